//! Rows about processes, as opposed to elections.

use tenure_store::Instant;

use super::database::{Database, Durability};
use super::error::SqliteStoreError;
use super::peer_registry::PeerRegistry;
use super::value::{from_instant, from_process};
use tenure_store::record::ProcessToken;

const FORGET_WATCHER: &str = "DELETE FROM watcher WHERE process = ?1";

/// Registers a process for every change of leadership.
pub(super) fn watch(database: &Database, process: ProcessToken) -> Result<(), SqliteStoreError> {
    execute(database, "INSERT OR IGNORE INTO watcher (process) VALUES (?1)", process)
}

pub(super) fn unwatch(database: &Database, process: ProcessToken) -> Result<(), SqliteStoreError> {
    execute(database, FORGET_WATCHER, process)
}

/// Removes processes that can no longer stand by, watch or listen. Their leases are left to run out.
pub(super) fn forget(database: &Database, processes: &[ProcessToken]) -> Result<(), SqliteStoreError> {
    database.write(Durability::Crash, |connection| {
        for process in processes {
            connection.execute("DELETE FROM stand_by WHERE process = ?1", [from_process(*process)])?;
            connection.execute(FORGET_WATCHER, [from_process(*process)])?;
            connection.execute("DELETE FROM listener WHERE process = ?1", [from_process(*process)])?;
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
            let mut statement = connection.prepare_cached(
                "SELECT 1 FROM leader JOIN lease ON lease.election = leader.election
                 WHERE leader.process = ?1 AND lease.expires_at_ns > ?2
                 LIMIT 1",
            )?;
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
