//! PgBouncer: what stands before servers where clients share few connections.

use std::net::{Ipv4Addr, SocketAddr};

use rustix::process::Signal;

use super::account::UnprivilegedUser;
use super::programs::program;
use super::server::{PostgresServer, url};
use super::{PASSWORD, ROLE};
use crate::process::{Paused, ProcessHandle};
use crate::running::RunningProcess;
use crate::service_dir::{Launch, PORT_IS_TAKEN, ServiceDir, on_free_port};

/// When a client gives the connection back to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// When it goes.
    Session,
    /// After each transaction: nothing that hangs on a connection outlives one.
    Transaction,
    /// After each statement: there are no transactions of several.
    Statement,
}

/// A PgBouncer on a free port of the loopback interface. It ends when it is dropped, and with this process at the latest.
pub struct PgBouncer {
    running: RunningProcess,
    port: u16,
    service_dir: ServiceDir,
}

impl PgBouncer {
    /// One before this server, with so many connections for each role and database. It knows the role `tenure` and those
    /// of the server's options.
    #[must_use]
    pub fn start(server: &PostgresServer, mode: PoolMode, pool_size: u16) -> Self {
        Self::start_ignoring(server, mode, pool_size, &[])
    }

    /// The same, with these startup parameters of clients ignored. Without this it refuses clients that send `options`.
    #[must_use]
    pub fn start_ignoring(server: &PostgresServer, mode: PoolMode, pool_size: u16, ignored: &[&str]) -> Self {
        let (account, service_dir) = (UnprivilegedUser::of_servers(), ServiceDir::at(None));
        account.own(service_dir.path());
        account.let_pass(service_dir.path());
        account.write(&service_dir.join(USERS), users(server));
        let (port, running) = on_free_port(|port| {
            let ignored: Vec<&str> = ["extra_float_digits"].iter().chain(ignored).copied().collect();
            let text = configuration(&service_dir, server, mode, pool_size, port) + &ignored.join(", ") + "\n";
            account.write(&service_dir.join(CONFIGURATION), text);
            let mut command = account.command(&program("pgbouncer"));
            command.arg(service_dir.join(CONFIGURATION)).current_dir("/");
            let launch = Launch { command, orphaned: Signal::KILL, obstacles: &[PORT_IS_TAKEN] };
            // It says this after it listens.
            let known = service_dir.log().len();
            service_dir.launch(launch, |_| service_dir.log()[known..].contains("process up"))
        });
        Self { running, port, service_dir }
    }

    /// The port on which it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Where the role `tenure` finds the database `postgres` through it.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_as(ROLE, PASSWORD)
    }

    /// Where this role finds the database `postgres` through it.
    #[must_use]
    pub fn url_as(&self, role: &str, password: &str) -> String {
        self.url_for(role, password, "postgres")
    }

    /// Where this role finds this database through it.
    #[must_use]
    pub fn url_for(&self, role: &str, password: &str, database: &str) -> String {
        url(self.address(), role, password, database)
    }

    /// All that it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.service_dir.log()
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> ProcessHandle {
        self.running.process.clone()
    }

    /// Lets it stand still until what is returned is dropped. Its connections stay.
    pub fn pause(&self) -> Paused {
        self.process().pause()
    }
}

fn configuration(
    service_dir: &ServiceDir,
    server: &PostgresServer,
    mode: PoolMode,
    pool_size: u16,
    port: u16,
) -> String {
    let mode = match mode {
        PoolMode::Session => "session",
        PoolMode::Transaction => "transaction",
        PoolMode::Statement => "statement",
    };
    // Through the socket it needs no passwords of its own, and no certificates.
    format!(
        "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\npool_mode = {mode}\ndefault_pool_size = {pool_size}\nmax_client_conn = 1000\n\
         auth_type = scram-sha-256\nauth_file = {}\nignore_startup_parameters = ",
        server.directory().display(),
        server.port(),
        service_dir.join(USERS).display()
    )
}

fn users(server: &PostgresServer) -> String {
    let own = (ROLE.to_owned(), PASSWORD.to_owned());
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let users = [&own].into_iter().chain(&server.options().roles);
    users.map(|(name, password)| format!("{} {}\n", quoted(name), quoted(password))).collect()
}

const CONFIGURATION: &str = "pgbouncer.ini";
const USERS: &str = "users.txt";
