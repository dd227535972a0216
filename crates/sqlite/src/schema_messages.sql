-- Version 2. Apart from elections: an election that only ever got messages is none.
CREATE TABLE mailbox (
    id        INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    -- How many messages are in line. Ten thousand rows need not be counted to send one more.
    waiting   INTEGER NOT NULL,
    UNIQUE (namespace, name)
) STRICT;

-- The place orders messages in all lines and among all dead letters: the end is always one above the highest that is taken.
CREATE TABLE message (
    place           INTEGER PRIMARY KEY,
    mailbox         INTEGER NOT NULL,
    id              BLOB NOT NULL,
    is_aside        INTEGER NOT NULL,
    channel         TEXT NOT NULL,
    sender          TEXT NOT NULL,
    sent_at_unix_ms INTEGER NOT NULL,
    attempts        INTEGER NOT NULL,
    last_error      TEXT,
    payload         TEXT NOT NULL,
    UNIQUE (mailbox, id)
) STRICT;

-- A line is walked along here, without touching the payloads of messages that are not wanted.
CREATE INDEX message_in_line ON message (mailbox, is_aside, place, channel, sender);

PRAGMA user_version = 2;
