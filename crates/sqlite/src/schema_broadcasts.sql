-- Version 3. What was said to all candidates of an election, for about a minute. Numbers are never used again: each process
-- reads what is above the highest that it has read.
CREATE TABLE broadcast (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    said_at_ns INTEGER NOT NULL,
    id         BLOB NOT NULL,
    channel    TEXT NOT NULL,
    sender     TEXT NOT NULL,
    payload    TEXT NOT NULL
) STRICT;

-- The processes that want to hear it. Without any, nothing is written down.
CREATE TABLE listener (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    process   BLOB NOT NULL,
    PRIMARY KEY (namespace, name, process)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 3;
