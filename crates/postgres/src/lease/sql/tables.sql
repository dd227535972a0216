-- Rows of elections and mailboxes are deleted with all that refers to them, so nothing has to be checked: each check would
-- cost as much as the row it is about.
CREATE TABLE {schema}.election (
    -- The first 128 bits of the SHA-256 of namespace, NUL and name.
    id uuid PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- The highest term ever granted; that of the lease, if there is one.
    last_term bigint NOT NULL DEFAULT 0,
    -- The lease, running or run out. All of it is null when it was released.
    leader text,
    -- Owns the lease. Null when a participant of another kind holds it.
    nonce uuid,
    ttl_us bigint,
    expires_at timestamptz,
    since timestamptz,
    metadata text,
    -- Where the holder's process listens; empty when it does not.
    channel text,
    -- Somebody asked the holder to hand over.
    handover boolean NOT NULL DEFAULT false,
    successor text,
    -- For whom a lease that was released is kept.
    reserved_for text,
    reserved_nonce uuid,
    reserved_until timestamptz,
    -- How many transitions were recorded.
    transitions bigint NOT NULL DEFAULT 0
-- Renewals change one row again and again: with room on its page, and no index on what changes, that is cheap.
) WITH (fillfactor = 50);

CREATE INDEX election_of_namespace ON {schema}.election (namespace, name);

CREATE TABLE {schema}.stand_by (
    election uuid NOT NULL,
    nonce uuid NOT NULL,
    candidate text NOT NULL,
    priority integer NOT NULL,
    since timestamptz NOT NULL,
    fresh_until timestamptz NOT NULL,
    channel text NOT NULL,
    -- The server process that listens for it; 0 when none does.
    listener integer NOT NULL,
    PRIMARY KEY (election, nonce)
) WITH (fillfactor = 50);

CREATE INDEX stand_by_in_line ON {schema}.stand_by (election, priority DESC, since, nonce);

CREATE TABLE {schema}.transition (
    election uuid NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL,
    term bigint NOT NULL,
    candidate text NOT NULL,
    change text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (election, number)
);

CREATE TYPE {schema}.campaign_reply AS (
    place integer,
    verdict text,
    term bigint,
    is_new boolean,
    ran_out_us bigint,
    leader text,
    is_foreign boolean,
    since_ms bigint,
    metadata text,
    remaining_us bigint,
    rank integer
);

-- One row per election that was ever sent a message. Whoever adds, removes or moves messages locks it first.
CREATE TABLE {schema}.mailbox (
    election uuid PRIMARY KEY,
    waiting bigint NOT NULL DEFAULT 0,
    last_place bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE {schema}.message (
    election uuid NOT NULL,
    id uuid NOT NULL,
    -- In line, or among the dead letters.
    place bigint NOT NULL,
    is_aside boolean NOT NULL DEFAULT false,
    channel text NOT NULL,
    sender text NOT NULL,
    -- JSON, byte for byte as it was sent.
    payload text NOT NULL,
    sent_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    PRIMARY KEY (election, id)
);

CREATE INDEX message_in_line ON {schema}.message (election, is_aside, place);
