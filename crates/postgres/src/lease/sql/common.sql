-- The timeline of the server: it grows with every promotion, so that terms do, even if the last ones were not replicated.
-- 0 where the server does not tell. Terms have to fit into 53 bits, so there is room for 13 bits of it.
CREATE OR REPLACE FUNCTION {schema}.timeline() RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN least(('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint, 8190);
EXCEPTION WHEN OTHERS THEN
    RETURN 0;
END
$$;

-- Milliseconds since the Unix epoch. It calls what is only stable, and is put into the caller's plan as long as it says so.
CREATE OR REPLACE FUNCTION {schema}.unix_ms(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT floor(extract(epoch FROM at) * 1000)::bigint $$;

CREATE OR REPLACE FUNCTION {schema}.micros_until(later timestamptz, at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(0, ceil(extract(epoch FROM later - at) * 1000000))::bigint $$;

-- The same as in the client: both must find the same row.
CREATE OR REPLACE FUNCTION {schema}.election_id(namespace text, name text) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(substr(sha256(convert_to(namespace, 'UTF8') || '\x00'::bytea || convert_to(name, 'UTF8')), 1, 16), 'hex')::uuid
$$;

-- Whether a server process is still there. Process numbers are used again, so "yes" may be wrong; it costs a second then.
-- In SQL it would be planned anew on every call.
CREATE OR REPLACE FUNCTION {schema}.is_alive(listener integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM pg_stat_get_activity(listener));
END
$$;

-- Clears away some of those who stood by and were not heard of in time, in whichever election: nobody else does where nobody
-- campaigns any more. Never many at once, and never one that somebody else is at. Whoever comes along has better things to do
-- than to fail for it.
CREATE OR REPLACE FUNCTION {schema}.drop_stale() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    at timestamptz := clock_timestamp();
BEGIN
    -- Asked in this way, the answer is the first entry of an index.
    IF (SELECT fresh_until FROM {schema}.stand_by ORDER BY fresh_until LIMIT 1) <= at THEN
        DELETE FROM {schema}.stand_by AS s
        USING (
            SELECT election, nonce FROM {schema}.stand_by WHERE fresh_until <= at
            ORDER BY fresh_until LIMIT 32 FOR UPDATE SKIP LOCKED
        ) AS stale
        WHERE s.election = stale.election AND s.nonce = stale.nonce;
    END IF;
EXCEPTION WHEN OTHERS THEN
    NULL;
END
$$;

-- What was granted or renewed must not be forgotten in a crash, nor in a failover to a standby that confirms, whatever the
-- role or the database have set. All that is weaker than "on" leaves something to be lost; what is stronger stays.
CREATE OR REPLACE FUNCTION {schema}.be_durable() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;

-- Keeps the last 1000 transitions of an election. In SQL it would be planned anew on every call, which takes longer than
-- what it does.
CREATE OR REPLACE FUNCTION {schema}.record_transition(
    p_election uuid, p_number bigint, p_at timestamptz, p_term bigint, p_candidate text, p_change text, p_reason text
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {schema}.transition VALUES (p_election, p_number, p_at, p_term, p_candidate, p_change, p_reason);
    IF p_number > 1000 THEN
        DELETE FROM {schema}.transition WHERE election = p_election AND number <= p_number - 1000;
    END IF;
END
$$;

-- An election whose row somebody has deleted goes on where its history ends: its terms do not fall, and no number of a
-- transition is used twice.
CREATE OR REPLACE FUNCTION {schema}.remember_election() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    latest {schema}.transition;
BEGIN
    SELECT * INTO latest FROM {schema}.transition WHERE election = NEW.id ORDER BY number DESC LIMIT 1;
    NEW.last_term := greatest(NEW.last_term, latest.term);
    NEW.transitions := greatest(NEW.transitions, latest.number);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER remember_election BEFORE INSERT ON {schema}.election
FOR EACH ROW EXECUTE FUNCTION {schema}.remember_election();
