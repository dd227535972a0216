//! What the tests of the PostgreSQL store share: one server, and a database for each of them.

use std::sync::{Arc, LazyLock};

use tenure::Store;
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::postgres::{PostgresDatabase, PostgresOptions, PostgresServer, SqlSession};
use tokio_postgres::{Client, NoTls};

pub(crate) use crate::store_candidate::*;

/// The role that candidates log in as. It owns nothing.
pub(crate) const APP: &str = "app";
pub(crate) const PASSWORD: &str = "app-password";

/// For all tests that do it no harm.
pub(crate) static POSTGRES: LazyLock<PostgresServer> = LazyLock::new(|| PostgresServer::start_with(options()));

/// A server that candidates can log in to.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions::default().role(APP, PASSWORD).max_connections(200)
}

pub(crate) fn config(url: &str) -> PostgresConfig {
    PostgresConfig::from_url(&url.parse().unwrap()).unwrap()
}

/// Makes the schema in a database of this owner, and lets candidates use it.
pub(crate) async fn migrate(owner: &str) {
    Migration::new(&config(owner)).role(APP).unwrap().run().await.unwrap();
}

/// A database of its own.
pub(crate) struct OwnDatabase {
    pub(crate) database: PostgresDatabase<'static>,
}

impl OwnDatabase {
    /// Without a schema.
    pub(crate) fn empty() -> Self {
        Self { database: POSTGRES.new_database() }
    }

    /// With the schema that candidates use.
    pub(crate) async fn new() -> Self {
        let place = Self::empty();
        migrate(&place.database.url()).await;
        place
    }

    pub(crate) fn owner(&self) -> PostgresConfig {
        config(&self.database.url())
    }

    pub(crate) fn url(&self) -> String {
        self.database.url_as(APP, PASSWORD)
    }

    /// A handle of its own.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        open(&self.url())
    }

    /// A connection as candidates have it.
    pub(crate) fn session(&self) -> SqlSession {
        SqlSession::open(&self.url()).unwrap()
    }

    /// The only value that a statement of the superuser returns.
    pub(crate) fn value(&self, sql: &str) -> Option<String> {
        self.database.sql(sql).remove(0).remove(0)
    }
}

/// A plain connection.
pub(crate) async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    // How it ends is told to whoever asks through the client.
    tokio::spawn(async { drop(connection.await) });
    client
}
