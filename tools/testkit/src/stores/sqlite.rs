//! The embedded store: a file, and no server.

use std::any::Any;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Abilities, Backend, StoreServer};
use crate::wall_clock::FakeWallClock;

/// A database in the directory of the test.
#[derive(Debug)]
pub struct Sqlite;

impl Backend for Sqlite {
    fn abilities(&self) -> Abilities {
        Abilities { sees_death: true, embedded: true, trusts_wall_clock: false, by_session: false }
    }

    fn start(&self, directory: &Path, _wall_clock: &FakeWallClock) -> Box<dyn StoreServer> {
        Box::new(SqliteDatabase { path: directory.join("tenure.db") })
    }
}

struct SqliteDatabase {
    path: PathBuf,
}

impl StoreServer for SqliteDatabase {
    fn url(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    /// Holds the lock that everybody needs who writes.
    fn stall(&self) -> Box<dyn Any> {
        let connection = Connection::open(&self.path).unwrap();
        connection.busy_timeout(crate::PATIENCE).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Box::new(connection)
    }
}
