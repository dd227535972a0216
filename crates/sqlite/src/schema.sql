-- One row: the boot of the machine whose clock all leases in this file run on.
CREATE TABLE machine (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    boot_id TEXT NOT NULL
) STRICT;

-- Never deleted: it remembers the last term.
CREATE TABLE election (
    id                INTEGER PRIMARY KEY,
    namespace         TEXT NOT NULL,
    name              TEXT NOT NULL,
    last_term         INTEGER,
    reserved_for      TEXT,
    reserved_nonce    BLOB,
    reserved_until_ns INTEGER,
    UNIQUE (namespace, name)
) STRICT;

-- What a renewal writes, and nothing else: narrow rows keep thousands of renewals within a few pages.
CREATE TABLE lease (
    election      INTEGER PRIMARY KEY,
    term          INTEGER NOT NULL,
    nonce         BLOB NOT NULL,
    ttl_ns        INTEGER NOT NULL,
    expires_at_ns INTEGER NOT NULL,
    handover      INTEGER NOT NULL
) STRICT;

-- The part of the lease that does not change while it is held.
CREATE TABLE leader (
    election      INTEGER PRIMARY KEY,
    candidate     TEXT NOT NULL,
    metadata      TEXT NOT NULL,
    since_unix_ms INTEGER NOT NULL,
    process       BLOB NOT NULL,
    handover_to   TEXT
) STRICT;

CREATE TABLE stand_by (
    election       INTEGER NOT NULL,
    nonce          BLOB NOT NULL,
    candidate      TEXT NOT NULL,
    priority       INTEGER NOT NULL,
    since_ns       INTEGER NOT NULL,
    since_unix_ms  INTEGER NOT NULL,
    fresh_until_ns INTEGER NOT NULL,
    process        BLOB NOT NULL,
    PRIMARY KEY (election, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
    election   INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    at_unix_ms INTEGER NOT NULL,
    term       INTEGER NOT NULL,
    candidate  TEXT NOT NULL,
    change     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (election, number)
) STRICT, WITHOUT ROWID;

-- The processes that want to hear of every change of leadership.
CREATE TABLE watcher (
    process BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- "tenu" in ASCII.
PRAGMA application_id = 1952804469;
PRAGMA user_version = 1;
