//! Rows about processes, as opposed to elections.

use tenure_store::Instant;

use super::database::{Database, Durability};
use super::error::SqliteStoreError;
use super::peer_registry::PeerRegistry;
use super::value::{from_instant, from_process};
use tenure_store::record::ProcessToken;

/// Registers a process for every change of leadership.
pub(super) fn watch(database: &Database, process: ProcessToken) -> Result<(), SqliteStoreError> {
    execute(database, include_str!("sql/watcher_add.sql"), process)
}

pub(super) fn unwatch(database: &Database, process: ProcessToken) -> Result<(), SqliteStoreError> {
    execute(database, include_str!("sql/watcher_forget.sql"), process)
}

/// Removes processes that can no longer stand by, watch or listen. Their leases are left to run out.
pub(super) fn forget(database: &Database, processes: &[ProcessToken]) -> Result<(), SqliteStoreError> {
    database.write(Durability::Crash, |connection| {
        for process in processes {
            connection.execute(include_str!("sql/stand_by_forget.sql"), [from_process(*process)])?;
            connection.execute(include_str!("sql/watcher_forget.sql"), [from_process(*process)])?;
            connection.execute(include_str!("sql/listener_forget.sql"), [from_process(*process)])?;
        }
        Ok(())
    })
}

/// Removes the leftovers of dead processes. While one has a running lease, its pipe is the proof of its death.
pub(super) fn sweep(database: &Database, registry: &PeerRegistry, now: Instant) {
    let mut dead = registry.dead();
    if dead.is_empty() {
        return;
    }
    let leads = |process: &ProcessToken| {
        database.read(|connection| {
            let mut statement = connection.prepare_cached(include_str!("sql/leader_of_process.sql"))?;
            Ok(statement.exists((from_process(*process), from_instant(now)))?)
        })
    };
    dead.retain(|process| matches!(leads(process), Ok(false)));
    if forget(database, &dead).is_ok() {
        dead.into_iter().for_each(|process| registry.remove(process));
    }
}

fn execute(database: &Database, sql: &str, process: ProcessToken) -> Result<(), SqliteStoreError> {
    database.write(Durability::Crash, |connection| {
        connection.execute(sql, [from_process(process)])?;
        Ok(())
    })
}
