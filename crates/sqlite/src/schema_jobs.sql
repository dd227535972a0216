-- Version 4. Apart from elections, as messages are.
CREATE TABLE job (
    id        INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    election  TEXT NOT NULL,
    name      TEXT NOT NULL,
    schedule  TEXT NOT NULL,
    -- All ticks up to this second since the Unix epoch are decided.
    mark      INTEGER NOT NULL,
    fired     INTEGER NOT NULL,
    missed    INTEGER NOT NULL,
    UNIQUE (namespace, election, name)
) STRICT;

CREATE TABLE run (
    job              INTEGER NOT NULL,
    tick             INTEGER NOT NULL,
    -- Owns it, together with the term.
    nonce            BLOB NOT NULL,
    term             INTEGER NOT NULL,
    candidate        TEXT NOT NULL,
    began_at_unix_ms INTEGER NOT NULL,
    -- All that follows is null until the end is told.
    ended_at_unix_ms INTEGER,
    took             INTEGER,
    outcome          TEXT,
    why              TEXT,
    PRIMARY KEY (job, tick)
) STRICT, WITHOUT ROWID;

-- A new leader asks for the runs without an end, and there are few.
CREATE INDEX run_without_end ON run (job, tick) WHERE ended_at_unix_ms IS NULL;

PRAGMA user_version = 4;
