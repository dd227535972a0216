//! One server.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use redis::{Connection, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo, RedisResult, Value};
use rustix::process::Signal;

use super::options::{CONFIGURATION, RedisOptions, SOCKET};
use crate::percent::percent_encoded;
use crate::process::{Paused, ProcessHandle};
use crate::running::RunningProcess;
use crate::service_dir::{Launch, PORT_IS_TAKEN, ServiceDir, on_free_port};
use crate::{PATIENCE, eventually};

/// A server on a free port of the loopback interface. It ends when it is dropped, and with this process at the latest, so
/// that the tests of a program may share one in a `static`.
pub struct RedisServer {
    running: Mutex<RunningProcess>,
    options: RedisOptions,
    port: u16,
    service_dir: ServiceDir,
}

impl RedisServer {
    /// A Redis that keeps nothing and lets everybody in.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(RedisOptions::default())
    }

    /// One that is like this. It answers when this returns, but may still be reading what it had kept.
    #[must_use]
    pub fn start_with(options: RedisOptions) -> Self {
        let service_dir = ServiceDir::at(options.directory.as_deref());
        let (port, running) = on_free_port(|port| {
            options.write(service_dir.path(), port);
            launch(&options, &service_dir)
        });
        Self { running: Mutex::new(running), options, port, service_dir }
    }

    /// The port on which it listens, encrypted or not.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Where candidates find it, with the password of the default user if that has one.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_with(&self.options.credentials())
    }

    /// Where this user finds it.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        self.url_with(&format!("{}:{}@", percent_encoded(user), percent_encoded(password)))
    }

    /// The directory where it keeps all it has.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.service_dir.path()
    }

    /// A connection of somebody who may do anything. It does not go through the port, so it needs no certificates.
    #[must_use]
    pub fn connection(&self) -> Connection {
        connect(&self.options, self.service_dir.path(), PATIENCE)
            .unwrap_or_else(|error| panic!("{error}, and the log is:\n{}", self.log()))
    }

    /// What it answers to this command.
    pub fn command(&self, words: &[&str]) -> Value {
        self.try_command(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// What it answers to this command, or the error.
    ///
    /// # Errors
    /// The server refused, or did not answer in time.
    pub fn try_command(&self, words: &[&str]) -> RedisResult<Value> {
        ask(&mut connect(&self.options, self.service_dir.path(), PATIENCE)?, words)
    }

    /// What it tells of itself under `INFO SECTION`, as the value behind this name.
    #[must_use]
    pub fn info(&self, section: &str, name: &str) -> Option<String> {
        let text: String = redis::from_redis_value(self.command(&["INFO", section])).unwrap();
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned))
    }

    /// How often it was asked this since it started, by name in lower case: `evalsha`, or `config|get`.
    #[must_use]
    pub fn calls(&self, command: &str) -> u64 {
        let statistics = self.info("commandstats", &format!("cmdstat_{command}"));
        statistics.map_or(0, |text| {
            let calls = text.strip_prefix("calls=").and_then(|text| text.split(',').next());
            calls.unwrap_or_else(|| panic!("no calls in {text}")).parse().unwrap()
        })
    }

    /// How many commands it has run since it started. A look counts in the next one: as one, or as two where there are users
    /// or passwords.
    #[must_use]
    pub fn total_commands(&self) -> u64 {
        self.info("stats", "total_commands_processed").unwrap().parse().unwrap()
    }

    /// All that it has logged, before restarts, too.
    #[must_use]
    pub fn log(&self) -> String {
        self.service_dir.log()
    }

    /// Its process, or the last one if it was killed.
    #[must_use]
    pub fn process(&self) -> ProcessHandle {
        self.running().process.clone()
    }

    /// Whether it takes itself for a primary; false also if it does not answer.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.replication().contains("role:master")
    }

    /// Whether it is a replica that has all its primary had when it began to follow; false also if it does not answer.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.replication().contains("master_link_status:up")
    }

    /// Lets it stand still until what is returned is dropped. Its connections stay.
    pub fn pause(&self) -> Paused {
        self.process().pause()
    }

    /// Ends it at once, without a chance to write anything.
    pub fn kill(&self) {
        end(&mut self.running());
    }

    /// Starts it once more, on the same port, with the configuration and the data that are in its directory now. It is
    /// killed first if it runs.
    pub fn restart(&self) {
        let mut running = self.running();
        end(&mut running);
        let mut started = None;
        eventually("the port of a server that restarts", || {
            started = launch(&self.options, &self.service_dir);
            started.is_some()
        });
        *running = started.unwrap();
    }

    /// What it answers, if it does so soon: one that is paused must not keep those waiting who ask all of several.
    pub(super) fn ask_briefly(&self, words: &[&str]) -> Option<Value> {
        let mut connection = connect(&self.options, self.service_dir.path(), Duration::from_secs(1)).ok()?;
        ask(&mut connection, words).ok()
    }

    /// Whether all slots are served, as far as it knows.
    pub(super) fn cluster_is_ok(&self) -> bool {
        let answer: String = redis::from_redis_value(self.command(&["CLUSTER", "INFO"])).unwrap();
        answer.contains("cluster_state:ok")
    }

    /// The password of the default user.
    pub(super) fn password(&self) -> Option<&str> {
        self.options.password.as_deref()
    }

    fn replication(&self) -> String {
        let answer = self.ask_briefly(&["INFO", "replication"]);
        answer.map(|text| redis::from_redis_value(text).unwrap()).unwrap_or_default()
    }

    fn running(&self) -> MutexGuard<'_, RunningProcess> {
        self.running.lock().unwrap()
    }

    fn url_with(&self, credentials: &str) -> String {
        let scheme = if self.options.tls.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://{credentials}{}", self.address())
    }
}

/// Starts a server with the configuration in this directory, and waits until it answers. None if somebody has its port.
fn launch(options: &RedisOptions, service_dir: &ServiceDir) -> Option<RunningProcess> {
    // One that was killed leaves its socket.
    let _ = fs::remove_file(service_dir.join(SOCKET));
    let mut command = Command::new(options.flavour.program());
    command.arg(service_dir.join(CONFIGURATION));
    if options.is_sentinel {
        command.arg("--sentinel");
    }
    if let Some(clock) = &options.wall_clock {
        clock.govern(&mut command);
    }
    let launch = Launch { command, orphaned: Signal::KILL, obstacles: &[PORT_IS_TAKEN] };
    service_dir.launch(launch, |_| {
        connect(options, service_dir.path(), PATIENCE).is_ok_and(|mut connection| is_up(&mut connection))
    })
}

fn end(running: &mut RunningProcess) {
    running.process.signal(Signal::KILL);
    running.process.await_end("a server");
    running.child().wait().unwrap();
}

/// One that still reads its data is up: it says so itself.
fn is_up(connection: &mut Connection) -> bool {
    match ask(connection, &["PING"]) {
        Ok(_) => true,
        Err(error) => error.code() == Some("LOADING"),
    }
}

fn ask(connection: &mut Connection, words: &[&str]) -> RedisResult<Value> {
    redis::cmd(words[0]).arg(&words[1..]).query(connection)
}

fn connect(options: &RedisOptions, directory: &Path, patience: Duration) -> RedisResult<Connection> {
    // It says nothing about itself, so that what is counted is what the test did.
    let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(user) = options.own_user() {
        settings = settings.set_username(user).set_password("any");
    }
    let address = ConnectionAddr::Unix(directory.join(SOCKET)).into_connection_info()?.set_redis_settings(settings);
    let connection = redis::Client::open(address)?.get_connection_with_timeout(patience)?;
    connection.set_read_timeout(Some(patience))?;
    connection.set_write_timeout(Some(patience))?;
    Ok(connection)
}
