//! A server that follows another one.

use std::fs;
use std::ops::Deref;
use std::path::Path;

use super::account::UnprivilegedUser;
use super::options::PostgresOptions;
use super::programs::program;
use super::server::PostgresServer;
use crate::eventually;
use crate::proxy::Proxy;

/// A standby. It receives what its primary has confirmed soon thereafter, over a link that the test can cut, answers
/// queries, and can be [promoted](PostgresServer::promote).
pub struct Standby {
    server: PostgresServer,
    link: Proxy,
}

impl Standby {
    /// One that has all its primary has now, and follows. It is like its primary, in a directory of its own.
    #[must_use]
    pub fn of(primary: &PostgresServer) -> Self {
        Self::with(primary, |options| options)
    }

    /// One that is like its primary but for this.
    #[must_use]
    pub fn with(primary: &PostgresServer, change: impl FnOnce(PostgresOptions) -> PostgresOptions) -> Self {
        let link = Proxy::before(primary.address()).unwrap();
        let way = format!("host=127.0.0.1 port={} user=postgres application_name=standby", link.address().port());
        let options = change(primary.options().elsewhere().setting("primary_conninfo", &way));
        let server = PostgresServer::start_on(options, |data| back_up(primary, data));
        let standby = Self { server, link };
        standby.await_all_of(primary);
        standby
    }

    /// Ends replication: what the primary confirms from now on does not come here, and is lost when this one is promoted.
    pub fn cut(&self) {
        self.link.refuse();
        self.link.reset();
        // What has arrived before is applied in any case.
        eventually("the end of replication", || self.server.sql("SELECT FROM pg_stat_wal_receiver").is_empty());
    }

    /// Lets it follow again.
    pub fn reconnect(&self) {
        self.link.heal();
    }

    /// Waits until it has, and shows, all that its primary has written so far.
    pub fn await_all_of(&self, primary: &PostgresServer) {
        let written = primary.value("SELECT pg_current_wal_lsn()").unwrap();
        let has_all = || {
            let position = self.server.value("SELECT pg_last_wal_replay_lsn()");
            position.is_some_and(|position| number(&position) >= number(&written))
        };
        eventually("a standby that has all", has_all);
    }
}

impl Deref for Standby {
    type Target = PostgresServer;

    fn deref(&self) -> &PostgresServer {
        &self.server
    }
}

/// Copies what a server has while it runs.
fn back_up(primary: &PostgresServer, data: &Path) {
    let account = UnprivilegedUser::of_servers();
    let mut copy = account.command(&program("pg_basebackup"));
    copy.arg("--host").arg(primary.directory()).args(["--port", &primary.port().to_string(), "--username=postgres"]);
    copy.args(["--wal-method=stream", "--checkpoint=fast", "--no-sync", "--pgdata"]).arg(data).current_dir("/");
    let output = copy.output().unwrap();
    assert!(output.status.success(), "{copy:?}: {}", String::from_utf8_lossy(&output.stderr));
    let signal = data.join("standby.signal");
    fs::write(&signal, "").unwrap();
    account.own(&signal);
}

/// A position in what a server has written: two numbers of 32 bits.
fn number(position: &str) -> u64 {
    let (high, low) = position.split_once('/').unwrap_or_else(|| panic!("not a position: {position}"));
    let [high, low] = [high, low].map(|half| u64::from_str_radix(half, 16).unwrap());
    (high << 32) + low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_order() {
        assert!(number("0/FFFFFFFF") < number("1/0") && number("1/9") < number("1/10"));
    }
}
