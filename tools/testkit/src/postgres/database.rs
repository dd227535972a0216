//! A database of a server that several tests share.

use super::server::PostgresServer;
use super::session::{Rows, SqlSession};
use super::{PASSWORD, ROLE};

/// A database. It stays until its server goes.
pub struct PostgresDatabase<'a> {
    /// Its name.
    pub name: String,
    server: &'a PostgresServer,
}

impl<'a> PostgresDatabase<'a> {
    pub(super) fn new(server: &'a PostgresServer, name: &str) -> Self {
        Self { name: name.to_owned(), server }
    }

    /// Where its owner finds it, the role `tenure`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_as(ROLE, PASSWORD)
    }

    /// Where this role finds it.
    #[must_use]
    pub fn url_as(&self, role: &str, password: &str) -> String {
        self.server.url_for(role, password, &self.name)
    }

    /// What these statements of the superuser return.
    pub fn sql(&self, sql: &str) -> Rows {
        self.session().run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// A connection of the superuser.
    #[must_use]
    pub fn session(&self) -> SqlSession {
        self.server.session(&self.name)
    }

    /// The server that has it.
    #[must_use]
    pub fn server(&self) -> &'a PostgresServer {
        self.server
    }
}
