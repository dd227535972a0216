//! Values that tenure never wrote, in a database that it did.

use std::cell::Cell;

use rusqlite::Connection;
use rusqlite::types::Value;
use tenure::store::sqlite::SqliteStore;
use tenure_fuzz::{Fuzz, InputTape};

use crate::database::{Pristine, connect};

/// An input is a tape of changes to rows. When they are undone, everything is as it was.
#[test]
fn fuzz_sqlite_values() {
    let pristine = Pristine::new();
    let path = pristine.directory.path().join("changed.db");
    std::fs::copy(&pristine.path, &path).unwrap();
    loosen(&connect(&path));
    let connection = connect(&path);
    connection.execute("ATTACH ?1 AS pristine", [pristine.path.to_str().unwrap()]).unwrap();
    // One store serves all inputs; one that has failed is not used again.
    let kept = Cell::new(None);
    Fuzz::target("sqlite-values").cases(200).cost(100).run(|input| {
        let store = kept.take().unwrap_or_else(|| {
            restore(&connection);
            SqliteStore::open(&path).unwrap()
        });
        let mut tape = InputTape::new(input);
        for _ in 0..MAX_CHANGES {
            if !tape.is_at_end() {
                change(&connection, &mut tape);
            }
        }
        pristine.ask_everything(&store);
        restore(&connection);
        assert!(pristine.knows_the_leader(&store), "something outlives the values that caused it");
        kept.set(Some(store));
    });
}

#[test]
fn a_changed_value_arrives() {
    let pristine = Pristine::new();
    loosen(&connect(&pristine.path));
    let store = SqliteStore::open(&pristine.path).unwrap();
    assert!(pristine.knows_the_leader(&store));
    connect(&pristine.path).execute("UPDATE lease SET term = 'one'", ()).unwrap();
    assert!(!pristine.knows_the_leader(&store));
}

/// Lets every column hold values of every type.
fn loosen(connection: &Connection) {
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '');
             UPDATE sqlite_schema SET sql = replace(sql, ', WITHOUT', 'WITHOUT');
             UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (id = 1)', '');
             PRAGMA writable_schema = RESET;
             PRAGMA schema_version = 1000;",
        )
        .unwrap();
}

fn restore(connection: &Connection) {
    let tables: String = COLUMNS
        .iter()
        .map(|(table, _)| format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM pristine.{table};"))
        .collect();
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {tables} COMMIT")).unwrap();
}

fn change(connection: &Connection, tape: &mut InputTape<'_>) {
    let (table, columns) = tape.pick(COLUMNS);
    let column = tape.pick(columns);
    let sql = match tape.byte() % 16 {
        0 => format!("DELETE FROM {table}"),
        1 => format!("INSERT OR REPLACE INTO {table} ({column}) VALUES (?1)"),
        2 => format!("UPDATE OR REPLACE {table} SET {column} = CAST(?1 AS TEXT)"),
        _ => format!("UPDATE OR REPLACE {table} SET {column} = ?1"),
    };
    let mut statement = connection.prepare_cached(&sql).unwrap();
    let value = value(tape);
    let parameters: &[Value] = if statement.parameter_count() == 0 { &[] } else { &[value] };
    // A row without a key is refused even here, and nothing is changed then.
    let _ = statement.execute(rusqlite::params_from_iter(parameters));
}

fn value(tape: &mut InputTape<'_>) -> Value {
    match tape.byte() % 8 {
        0 => Value::Null,
        1 => Value::Real(f64::from_bits(tape.number())),
        2 => Value::Blob(tape.piece().to_vec()),
        3 => Value::Blob(vec![tape.byte(); 16]),
        4 => Value::Text(tape.text()),
        _ => Value::Integer(tape.number().cast_signed()),
    }
}

const MAX_CHANGES: usize = 4;

const COLUMNS: &[(&str, &[&str])] = &[
    ("machine", &["id", "boot_id"]),
    ("election", &["id", "namespace", "name", "last_term", "reserved_for", "reserved_nonce", "reserved_until_ns"]),
    ("lease", &["election", "term", "nonce", "ttl_ns", "expires_at_ns", "handover"]),
    ("leader", &["election", "candidate", "metadata", "since_unix_ms", "process", "handover_to"]),
    (
        "stand_by",
        &["election", "nonce", "candidate", "priority", "since_ns", "since_unix_ms", "fresh_until_ns", "process"],
    ),
    ("history", &["election", "number", "at_unix_ms", "term", "candidate", "change", "reason"]),
    ("watcher", &["process"]),
    ("broadcast", &["number", "namespace", "name", "said_at_ns", "id", "channel", "sender", "payload"]),
    ("listener", &["namespace", "name", "process"]),
    ("mailbox", &["id", "namespace", "name", "waiting"]),
    (
        "message",
        &[
            "place",
            "mailbox",
            "id",
            "is_aside",
            "channel",
            "sender",
            "sent_at_unix_ms",
            "attempts",
            "last_error",
            "payload",
        ],
    ),
];
