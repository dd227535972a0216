//! One server.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustix::process::Signal;
use tokio_postgres::Config;

use super::account::UnprivilegedUser;
use super::options::{CONFIGURATION, PostgresOptions};
use super::processes::{PausedServer, end_all, kill_all};
use super::programs::program;
use super::session::{Rows, SqlError, SqlSession};
use super::{PASSWORD, PostgresDatabase, ROLE, template};
use crate::percent::percent_encoded;
use crate::process::ProcessHandle;
use crate::running::RunningProcess;
use crate::service_dir::{Launch, PORT_IS_TAKEN, ServiceDir, on_free_port};
use crate::{PATIENCE, eventually};

/// How a server is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// When all clients have gone.
    Smart,
    /// After ending all connections.
    Fast,
    /// As after a crash, but with its clients told.
    Immediate,
}

/// A server on a free port of the loopback interface. It ends when it is dropped, and with this process at the latest, so
/// that the tests of a program may share one in a `static`, with a [database](Self::new_database) each.
pub struct PostgresServer {
    running: Mutex<RunningProcess>,
    options: PostgresOptions,
    port: u16,
    service_dir: ServiceDir,
    databases: AtomicU32,
}

impl PostgresServer {
    /// A server without encryption that is made for speed.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(PostgresOptions::default())
    }

    /// One that is like this. It answers when this returns.
    #[must_use]
    pub fn start_with(options: PostgresOptions) -> Self {
        let mut is_new = false;
        let server = Self::start_on(options, |data| {
            template::copy_to(data);
            is_new = true;
        });
        if is_new {
            server.options.roles.iter().for_each(|(name, password)| server.create_role(name, password));
        }
        server
    }

    /// One that is like this, with the data that this puts into the directory which it is given. A directory of the test
    /// that has data keeps them.
    pub(super) fn start_on(options: PostgresOptions, provide: impl FnOnce(&Path)) -> Self {
        let (service_dir, account) = (ServiceDir::at(options.directory.as_deref()), UnprivilegedUser::of_servers());
        account.own(service_dir.path());
        account.let_pass(service_dir.path());
        let data = service_dir.join(DATA);
        if !data.exists() {
            provide(&data);
        }
        let (port, running) = on_free_port(|port| {
            options.write(&service_dir, port);
            launch(&options, &service_dir)
        });
        Self { running: Mutex::new(running), options, port, service_dir, databases: AtomicU32::new(0) }
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

    /// Where the role `tenure` finds the database `postgres`, which it owns. It is nothing more than a role that can log
    /// in.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_as(ROLE, PASSWORD)
    }

    /// Where this role finds the database `postgres`.
    #[must_use]
    pub fn url_as(&self, role: &str, password: &str) -> String {
        self.url_for(role, password, "postgres")
    }

    /// Where this role finds this database.
    #[must_use]
    pub fn url_for(&self, role: &str, password: &str, database: &str) -> String {
        url(self.address(), role, password, database)
    }

    /// The directory where it keeps all it has.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.service_dir.path()
    }

    /// What it returns to these statements, which the superuser runs in the database `postgres`. They do not go through the
    /// port, and so need neither certificates nor a password.
    pub fn sql(&self, sql: &str) -> Rows {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}; the log is:\n{}", self.log()))
    }

    /// What it returns to these statements, or the error.
    ///
    /// # Errors
    /// The server refused, or did not answer in time.
    pub fn try_sql(&self, sql: &str) -> Result<Rows, SqlError> {
        self.superuser_in("postgres", PATIENCE)?.run(sql)
    }

    /// The one value that it returns to this statement of the superuser.
    #[must_use]
    pub fn value(&self, sql: &str) -> Option<String> {
        let [row] = <[_; 1]>::try_from(self.sql(sql)).unwrap_or_else(|rows| panic!("{sql}: {rows:?}"));
        let [value] = <[_; 1]>::try_from(row).unwrap_or_else(|row| panic!("{sql}: {row:?}"));
        value
    }

    /// A connection of the superuser to this database, for what has to hang on one: transactions, locks.
    #[must_use]
    pub fn session(&self, database: &str) -> SqlSession {
        self.superuser_in(database, PATIENCE).unwrap_or_else(|error| panic!("{error}, and the log is:\n{}", self.log()))
    }

    /// Adds a role that can log in.
    pub fn create_role(&self, name: &str, password: &str) {
        self.format("CREATE ROLE %I LOGIN PASSWORD %L", &[name, password]);
    }

    /// Adds a database that belongs to the role `tenure`.
    pub fn create_database(&self, name: &str) -> PostgresDatabase<'_> {
        self.format("CREATE DATABASE %I OWNER %I", &[name, ROLE]);
        PostgresDatabase::new(self, name)
    }

    /// A database that nobody has used, as [`create_database`](Self::create_database) makes it.
    pub fn new_database(&self) -> PostgresDatabase<'_> {
        self.create_database(&format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed)))
    }

    /// All that it has logged, before restarts, too.
    #[must_use]
    pub fn log(&self) -> String {
        self.service_dir.log()
    }

    /// Its first process, which listens and starts all others, or the last one if it was killed.
    #[must_use]
    pub fn process(&self) -> ProcessHandle {
        self.running().process.clone()
    }

    /// The processes that serve connections of clients now.
    #[must_use]
    pub fn backends(&self) -> Vec<ProcessHandle> {
        let pids = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        self.sql(pids).iter().flatten().flatten().map(|pid| ProcessHandle::open(pid.parse().unwrap())).collect()
    }

    /// Lets it stand still, with all that serves its connections, until what is returned is dropped. The connections stay.
    pub fn pause(&self) -> PausedServer {
        PausedServer::new(&self.process())
    }

    /// Ends it and all that serves its connections at once, without a chance to write or say anything.
    pub fn kill(&self) {
        let mut running = self.running();
        kill_all(&running.process);
        running.child().wait().unwrap();
    }

    /// Stops it, and waits until it has.
    pub fn stop(&self, mode: StopMode) {
        let mut running = self.running();
        running.signal(match mode {
            StopMode::Smart => Signal::TERM,
            StopMode::Fast => Signal::INT,
            StopMode::Immediate => Signal::QUIT,
        });
        running.process.await_end("a server that was stopped");
        running.child().wait().unwrap();
    }

    /// Starts it once more, on the same port, with the configuration and the data that are in its directory now. It is
    /// killed first if it runs.
    pub fn restart(&self) {
        self.kill();
        let mut started = None;
        eventually("the port of a server that restarts", || {
            started = launch(&self.options, &self.service_dir);
            started.is_some()
        });
        *self.running() = started.unwrap();
    }

    /// Whether it takes writes, and is no standby; false also if it does not answer.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        let session = self.superuser_in("postgres", Duration::from_secs(1));
        let answer = session.and_then(|mut session| session.run("SELECT pg_is_in_recovery()"));
        answer.is_ok_and(|rows| rows == [[Some("f".to_owned())]])
    }

    /// Makes a standby a primary. It takes writes when this returns.
    pub fn promote(&self) {
        self.sql("SELECT pg_promote()");
        eventually("a standby that is promoted", || self.is_primary());
    }

    pub(super) fn options(&self) -> &PostgresOptions {
        &self.options
    }

    /// Runs a statement of the superuser that cannot have parameters.
    pub(super) fn format(&self, format: &str, words: &[&str]) {
        self.session("postgres").run_formatted(format, words).unwrap_or_else(|error| panic!("{format}: {error}"));
    }

    fn superuser_in(&self, database: &str, patience: Duration) -> Result<SqlSession, SqlError> {
        let mut config = Config::new();
        config.host_path(self.service_dir.path()).port(self.port).user("postgres").dbname(database);
        SqlSession::with(&config, patience)
    }

    fn running(&self) -> MutexGuard<'_, RunningProcess> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        end_all(&self.running().process);
        remove_shared_memory(&self.service_dir);
    }
}

/// Where this role finds this database on this server.
pub(super) fn url(address: SocketAddr, role: &str, password: &str, database: &str) -> String {
    let [role, password, database] = [role, password, database].map(percent_encoded);
    format!("postgres://{role}:{password}@{address}/{database}")
}

/// Starts a server with the configuration in its directory, and waits until it answers. None if somebody has its port, or
/// its data, which can only be processes of its predecessor that are about to end.
fn launch(options: &PostgresOptions, service_dir: &ServiceDir) -> Option<RunningProcess> {
    let account = UnprivilegedUser::of_servers();
    let mut command = account.command(&program("postgres"));
    command.arg("-D").arg(service_dir.join(DATA)).arg("-c");
    command.arg(format!("config_file={}", service_dir.join(CONFIGURATION).display())).current_dir("/");
    if let Some(clock) = &options.wall_clock {
        account.let_pass(clock.file());
        clock.govern_from(service_dir.path(), &mut command);
    }
    // It ends its other processes then, also those that stand still, and gives its memory back.
    let launch = Launch { command, orphaned: Signal::QUIT, obstacles: &[PORT_IS_TAKEN, "is still in use"] };
    service_dir.launch(launch, |running| is_up(service_dir, &running.process))
}

/// Whether this process says so in the file that it keeps about itself. Asking it would fill its log with refusals.
fn is_up(service_dir: &ServiceDir, process: &ProcessHandle) -> bool {
    let lines = lock_file(service_dir);
    let is_own = lines.first().is_some_and(|pid| *pid == process.pid.as_raw_nonzero().to_string());
    is_own && lines.get(7).is_some_and(|state| state.trim() == "ready")
}

/// One that is killed leaves some memory that belongs to no process; the next server on the same data would remove it.
fn remove_shared_memory(service_dir: &ServiceDir) {
    let lines = lock_file(service_dir);
    if let Some(id) = lines.get(6).and_then(|keys| keys.split_whitespace().nth(1)) {
        // It is gone already if this fails.
        let _ = Command::new("ipcrm").args(["-m", id]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// What a server keeps about itself while it runs: its process in the first line, its memory in the 7th, its state in the
/// 8th.
fn lock_file(service_dir: &ServiceDir) -> Vec<String> {
    let text = fs::read_to_string(service_dir.join(DATA).join("postmaster.pid")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const DATA: &str = "data";
