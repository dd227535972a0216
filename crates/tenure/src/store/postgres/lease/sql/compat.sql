-- For participants that know only these three functions and the table behind them. They stand in the same elections, in the
-- namespace "default", and are told by their id alone, as they have nothing else: the nonce of their lease is null.
DO $tenure$
DECLARE
    old regclass := to_regclass({compat_table_literal});
    holder record;
BEGIN
    -- A table of others is only read, with types that run no code of theirs; a view of theirs would stay theirs.
    IF EXISTS (
        SELECT FROM pg_class AS c
        WHERE c.oid = old AND c.relowner <> quote_ident(current_user)::regrole
            AND (c.relkind <> 'r' OR EXISTS (
                SELECT FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND t.typnamespace <> 'pg_catalog'::regnamespace
            ))
    ) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'TE003',
            MESSAGE = {compat_table_literal} || ' belongs to ' || (SELECT relowner::regrole FROM pg_class WHERE oid = old);
    END IF;
    IF old IS NULL OR (SELECT relkind FROM pg_class WHERE oid = old) <> 'r' THEN
        RETURN;
    END IF;
    -- Nobody changes it any more while its rows move.
    LOCK TABLE {compat}.leader_election IN ACCESS EXCLUSIVE MODE;
    FOR holder IN SELECT * FROM {compat}.leader_election LOOP
        INSERT INTO {schema}.election AS e
            (id, namespace, name, last_term, leader, ttl_us, expires_at, since, metadata)
        VALUES (
            {schema}.election_id('default', holder.service_name), 'default', holder.service_name,
            -- Its timeout is not known. This is the longest in use: nobody may lead before the holder has given up.
            greatest(holder.term, 1), holder.leader_id, 90000000, holder.last_heartbeat + interval '90 seconds',
            holder.last_heartbeat, holder.metadata::text
        )
        ON CONFLICT (id) DO UPDATE SET last_term = greatest(e.last_term, excluded.last_term);
    END LOOP;
    ALTER TABLE {compat}.leader_election RENAME TO leader_election_before_tenure;
END
$tenure$;

-- Shows what the table showed, for those who read it.
CREATE OR REPLACE VIEW {compat}.leader_election AS
    SELECT name::varchar(255) AS service_name, leader::varchar(255) AS leader_id, last_term AS term,
        expires_at - ttl_us * interval '1 microsecond' AS last_heartbeat, metadata::json AS metadata
    FROM {schema}.election
    WHERE namespace = 'default' AND leader IS NOT NULL;

CREATE OR REPLACE FUNCTION {compat}.try_become_leader(
    p_service_name varchar, p_candidate_id varchar, p_timeout_seconds integer DEFAULT 30
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    election_id uuid := {schema}.election_id('default', p_service_name);
    timeout_us bigint := greatest(p_timeout_seconds, 1)::bigint * 1000000;
    e {schema}.election;
    at timestamptz;
BEGIN
    INSERT INTO {schema}.election (id, namespace, name) VALUES (election_id, 'default', p_service_name)
    ON CONFLICT DO NOTHING;
    SELECT * INTO e FROM {schema}.election WHERE id = election_id FOR UPDATE;
    -- Only now: the lock may have been waited for.
    at := clock_timestamp();
    PERFORM {schema}.be_durable();
    IF e.leader IS NOT NULL AND at < e.expires_at THEN
        IF e.nonce IS NULL AND e.leader = p_candidate_id THEN
            UPDATE {schema}.election
            SET ttl_us = timeout_us, expires_at = at + timeout_us * interval '1 microsecond' WHERE id = election_id;
            RETURN true;
        END IF;
        RETURN false;
    END IF;
    IF {schema}.is_reserved(e, at) THEN
        RETURN false;
    END IF;
    RETURN {schema}.grant_lease(e, p_candidate_id, NULL, timeout_us, '{}', '', at) IS NOT NULL;
END
$$;

CREATE OR REPLACE FUNCTION {compat}.leader_heartbeat(p_service_name varchar, p_leader_id varchar) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}.be_durable();
    -- The asker's own timeout when it took the lease rules, as it does for everybody.
    UPDATE {schema}.election SET expires_at = clock_timestamp() + ttl_us * interval '1 microsecond'
    WHERE id = {schema}.election_id('default', p_service_name) AND leader = p_leader_id AND nonce IS NULL
        AND expires_at > clock_timestamp();
    RETURN FOUND;
END
$$;

CREATE OR REPLACE FUNCTION {compat}.step_down(p_service_name varchar, p_leader_id varchar) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    election_id uuid := {schema}.election_id('default', p_service_name);
    e {schema}.election;
BEGIN
    PERFORM {schema}.be_durable();
    SELECT * INTO e FROM {schema}.election WHERE id = election_id FOR UPDATE;
    IF NOT FOUND OR e.leader IS DISTINCT FROM p_leader_id OR e.nonce IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM {schema}.record_transition(
        election_id, e.transitions + 1, clock_timestamp(), e.last_term, e.leader, 'lost', 'resigned'
    );
    -- Kept for nobody: nobody is woken by this, so whoever looks first may have it.
    UPDATE {schema}.election SET
        transitions = e.transitions + 1, leader = NULL, ttl_us = NULL, expires_at = NULL, since = NULL, metadata = NULL,
        channel = NULL, handover = false, successor = NULL
    WHERE id = election_id;
    RETURN true;
END
$$;

-- They may have been somebody else's, and run with the rights of their owner.
ALTER FUNCTION {compat}.try_become_leader(varchar, varchar, integer) OWNER TO CURRENT_USER;
ALTER FUNCTION {compat}.leader_heartbeat(varchar, varchar) OWNER TO CURRENT_USER;
ALTER FUNCTION {compat}.step_down(varchar, varchar) OWNER TO CURRENT_USER;

REVOKE ALL ON {compat}.leader_election FROM PUBLIC;
REVOKE ALL ON FUNCTION {compat_functions} FROM PUBLIC;

-- Who could read the table may read what shows the same, and who could change it may call the functions.
DO $tenure$
DECLARE
    old regclass := to_regclass({compat_backup_literal});
    known record;
BEGIN
    FOR known IN
        SELECT DISTINCT acl.grantee::regrole AS role, acl.privilege_type AS may
        FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) AS acl
        WHERE pg_class.oid = old AND acl.grantee <> 0
    LOOP
        IF known.may = 'SELECT' THEN
            EXECUTE 'GRANT SELECT ON ' || {compat_table_literal} || ' TO ' || known.role;
        ELSIF known.may = 'UPDATE' THEN
            EXECUTE 'GRANT EXECUTE ON FUNCTION ' || {compat_functions_literal} || ' TO ' || known.role;
        END IF;
    END LOOP;
END
$tenure$;
