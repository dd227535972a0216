//! A server with what both stores and their floors need.

use std::error::Error;
use std::net::SocketAddr;

use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::postgres::{PostgresOptions, PostgresServer, SqlSession};

use super::kind::PostgresStoreKind;
use super::load::PostgresCounters;
use crate::runtime::runtime;

/// A server that writes to its disk, with a role that may hold elections and nothing else.
pub(super) struct BenchPostgres {
    server: PostgresServer,
    /// Open all the time, so that looking at the server costs it little.
    superuser: SqlSession,
}

impl BenchPostgres {
    /// One that listens where only this host can reach it.
    pub(super) fn start() -> Result<Self, Box<dyn Error>> {
        Self::start_with(PostgresOptions::default())
    }

    /// One that is like this besides.
    pub(super) fn start_with(options: PostgresOptions) -> Result<Self, Box<dyn Error>> {
        let options = options
            .durable()
            .role(ROLE, PASSWORD)
            .max_connections(200)
            .setting("max_locks_per_transaction", &LOCKS_PER_TRANSACTION.to_string())
            .setting("shared_preload_libraries", "pg_stat_statements");
        let server = PostgresServer::start_with(options);
        let owner = PostgresConfig::from_url(&server.url().parse()?)?;
        runtime()?.block_on(Migration::new(&owner).role(ROLE)?.run())?;
        let mut superuser = server.session("postgres");
        superuser.run(FLOOR)?;
        Ok(Self { server, superuser })
    }

    /// Where candidates find this store.
    pub(super) fn url(&self, kind: PostgresStoreKind) -> String {
        self.url_at(kind, self.address())
    }

    /// Where candidates find this store who reach the server at this address.
    #[expect(clippy::unused_self, reason = "the role and its password are those of this server")]
    pub(super) fn url_at(&self, kind: PostgresStoreKind, address: SocketAddr) -> String {
        format!("{}://{ROLE}:{PASSWORD}@{address}/postgres", kind.scheme())
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(super) fn look(&mut self) -> Result<PostgresCounters, Box<dyn Error>> {
        PostgresCounters::at(&self.server.process(), &mut self.superuser)
    }

    /// The one number that this statement of the superuser returns.
    pub(super) fn number(&mut self, sql: &str) -> Result<f64, Box<dyn Error>> {
        let rows = self.superuser.run(sql)?;
        let value = rows.into_iter().flatten().flatten().next().ok_or("the server returned nothing")?;
        Ok(value.parse()?)
    }
}

/// Ten thousand locks of one session do not fit into what is usual. It is a part of memory that all sessions share.
pub(super) const LOCKS_PER_TRANSACTION: u32 = 256;

/// Whoever counts statements counts those of this role.
pub(super) const ROLE: &str = "candidate";
const PASSWORD: &str = "secret";

/// The rows of the floors: 0 is handed over, -1 is written to, and those above 0 are renewed.
const FLOOR: &str = "CREATE EXTENSION pg_stat_statements;
    CREATE TABLE floor_lease (id bigint PRIMARY KEY, holder bigint, term bigint NOT NULL, expires_at timestamptz)
        WITH (fillfactor = 50);
    INSERT INTO floor_lease VALUES (0, 1, 1, now()), (-1, 1, 1, now());
    GRANT SELECT, INSERT, UPDATE ON floor_lease TO candidate;";
