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

-- Milliseconds since the Unix epoch.
CREATE OR REPLACE FUNCTION {schema}.unix_ms(at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT floor(extract(epoch FROM at) * 1000)::bigint $$;

CREATE OR REPLACE FUNCTION {schema}.micros_until(later timestamptz, at timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(0, ceil(extract(epoch FROM later - at) * 1000000))::bigint $$;

-- The same as in the client: both must find the same row.
CREATE OR REPLACE FUNCTION {schema}.election_id(namespace text, name text) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(substr(sha256(convert_to(namespace, 'UTF8') || '\x00'::bytea || convert_to(name, 'UTF8')), 1, 16), 'hex')::uuid
$$;

-- Whether a server process is still there. Process numbers are used again, so "yes" may be wrong; it costs a second then.
CREATE OR REPLACE FUNCTION {schema}.is_alive(listener integer) RETURNS boolean
LANGUAGE sql VOLATILE AS $$ SELECT EXISTS (SELECT FROM pg_stat_get_activity(listener)) $$;

-- What was granted or renewed must not be forgotten in a crash, whatever the role or the database have set.
CREATE OR REPLACE FUNCTION {schema}.be_durable() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;

-- How many transitions of an election are kept.
CREATE OR REPLACE FUNCTION {schema}.record_transition(
    p_election uuid, p_number bigint, p_at timestamptz, p_term bigint, p_candidate text, p_change text, p_reason text
) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO {schema}.transition VALUES (p_election, p_number, p_at, p_term, p_candidate, p_change, p_reason);
    DELETE FROM {schema}.transition WHERE election = p_election AND number <= p_number - 1000;
$$;
