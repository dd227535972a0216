//! PostgreSQL: one server that keeps what it has confirmed.

use std::any::Any;
use std::path::Path;

use super::{Abilities, Backend, Endpoint, StoreServer};
use crate::postgres::{PostgresOptions, PostgresServer, Session, message_length};
use crate::wall_clock::WallClock;

/// A server in the directory of the test, with the tables of the store.
#[derive(Debug)]
pub struct Postgres {
    /// The statements that make the tables, which the kit does not know. The role runs them that candidates log in as.
    pub schema: fn() -> String,
}

impl Backend for Postgres {
    fn abilities(&self) -> Abilities {
        Abilities { sees_death: false, embedded: false, trusts_wall_clock: true }
    }

    fn start(&self, directory: &Path, wall_clock: &WallClock) -> Box<dyn StoreServer> {
        let options = PostgresOptions::default().durable().wall_clock(wall_clock);
        let server = PostgresServer::start_with(options.directory(&directory.join("postgres")));
        let made = Session::open(&server.url()).and_then(|mut session| session.run(&(self.schema)()));
        made.unwrap_or_else(|error| panic!("no tables: {error}"));
        Box::new(server)
    }
}

impl StoreServer for PostgresServer {
    /// It does not encrypt, and candidates that come from another host have to be told.
    fn url(&self) -> String {
        format!("{}?sslmode=disable", Self::url(self))
    }

    /// It stands still, and its connections stay.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.pause())
    }

    fn endpoint(&self) -> Option<Endpoint> {
        Some(Endpoint::new(self.address(), &StoreServer::url(self), message_length))
    }
}
