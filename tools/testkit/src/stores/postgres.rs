//! PostgreSQL: one server that keeps what it has confirmed, and candidates that may hold elections there and nothing else.

use std::any::Any;
use std::path::Path;

use super::{Abilities, Backend, StoreEndpoint, StoreServer};
use crate::postgres::{
    APP, APP_PASSWORD, PgBouncer, PostgresOptions, PostgresServer, SqlSession, Standby, message_length,
};
use crate::wall_clock::FakeWallClock;

/// A server in the directory of the test, with the tables of the store.
#[derive(Debug)]
pub struct Postgres {
    /// The statements that make the tables and let this role use them, which the kit does not know. Their owner runs them,
    /// and candidates log in as the role.
    pub tables: fn(role: &str) -> String,
}

impl Postgres {
    /// A server that is like this, with the tables, and with the role that candidates log in as.
    #[must_use]
    pub fn serve(&self, options: PostgresOptions) -> PostgresServer {
        let server = PostgresServer::start_with(options.role(APP, APP_PASSWORD));
        let made = SqlSession::open(&server.url()).and_then(|mut owner| owner.run(&(self.tables)(APP)));
        made.unwrap_or_else(|error| panic!("no tables: {error}"));
        server
    }
}

impl Backend for Postgres {
    fn abilities(&self) -> Abilities {
        Abilities { sees_death: false, embedded: false, trusts_wall_clock: true, by_session: false }
    }

    fn start(&self, directory: &Path, wall_clock: &FakeWallClock) -> Box<dyn StoreServer> {
        // What it has confirmed outlives its processes, and nothing here ends the kernel, which has it.
        let options = PostgresOptions::default().wall_clock(wall_clock);
        Box::new(self.serve(options.directory(&directory.join("postgres"))))
    }
}

/// The same server without tables: candidates hold advisory locks.
#[derive(Debug)]
pub struct PostgresAdvisory;

impl Backend for PostgresAdvisory {
    fn abilities(&self) -> Abilities {
        Abilities { sees_death: true, embedded: false, trusts_wall_clock: false, by_session: true }
    }

    fn start(&self, directory: &Path, wall_clock: &FakeWallClock) -> Box<dyn StoreServer> {
        let options = PostgresOptions::default().role(APP, APP_PASSWORD).wall_clock(wall_clock);
        Box::new(AdvisoryServer(PostgresServer::start_with(options.directory(&directory.join("postgres")))))
    }
}

/// A server as those see it who want locks.
struct AdvisoryServer(PostgresServer);

impl StoreServer for AdvisoryServer {
    fn url(&self) -> String {
        StoreServer::url(&self.0).replacen("postgres:", "postgres+advisory:", 1)
    }

    fn stall(&self) -> Box<dyn Any> {
        StoreServer::stall(&self.0)
    }

    fn endpoint(&self) -> Option<StoreEndpoint> {
        Some(StoreEndpoint::new(self.0.address(), &self.url(), message_length))
    }
}

/// As candidates see it, who are not the owner.
impl StoreServer for PostgresServer {
    /// It does not encrypt, and candidates that come from another host have to be told.
    fn url(&self) -> String {
        format!("{}?sslmode=disable", self.url_as(APP, APP_PASSWORD))
    }

    /// It stands still, and its connections stay.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.pause())
    }

    fn endpoint(&self) -> Option<StoreEndpoint> {
        Some(StoreEndpoint::new(self.address(), &StoreServer::url(self), message_length))
    }
}

/// As candidates see it who do not know that it is one.
impl StoreServer for Standby {
    fn url(&self) -> String {
        StoreServer::url(&**self)
    }

    fn stall(&self) -> Box<dyn Any> {
        StoreServer::stall(&**self)
    }

    fn endpoint(&self) -> Option<StoreEndpoint> {
        StoreServer::endpoint(&**self)
    }
}

/// The server behind it, as candidates see it.
impl StoreServer for PgBouncer {
    fn url(&self) -> String {
        self.url_as(APP, APP_PASSWORD)
    }

    /// It stands still, and its connections stay.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.pause())
    }
}
