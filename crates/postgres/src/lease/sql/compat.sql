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
    PERFORM set_config('tenure.compat_grants', '', true);
    IF EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = old AND attname = 'metadata' AND atttypid = 'json'::regtype
            AND (SELECT relkind FROM pg_class WHERE oid = old) = 'v'
    ) THEN
        -- An earlier version showed other types, which cannot be changed; and terms that have to go on from those of old.
        PERFORM set_config('tenure.compat_grants', coalesce(string_agg(
            format('GRANT %s ON %s TO %s', acl.privilege_type, {compat_table_literal},
                CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE acl.grantee::regrole::text END), '; '
        ), ''), true) FROM pg_class AS c, aclexplode(c.relacl) AS acl WHERE c.oid = old AND acl.grantee <> c.relowner;
        DROP VIEW {compat}.leader_election;
        IF to_regclass({compat_backup_literal}) IS NOT NULL THEN
            EXECUTE 'UPDATE ' || {schema_literal} || '.election AS e SET transitions = e.transitions + known.term FROM '
                || {compat_backup_literal} || ' AS known WHERE e.id = ' || {schema_literal}
                || '.election_id(''default'', known.service_name)';
        END IF;
        RETURN;
    END IF;
    IF old IS NULL OR (SELECT relkind FROM pg_class WHERE oid = old) <> 'r' THEN
        RETURN;
    END IF;
    -- Nobody changes it any more while its rows move.
    LOCK TABLE {compat}.leader_election IN ACCESS EXCLUSIVE MODE;
    FOR holder IN SELECT * FROM {compat}.leader_election LOOP
        INSERT INTO {schema}.election AS e
            (id, namespace, name, last_term, leader, ttl_us, expires_at, since, metadata, transitions)
        VALUES (
            {schema}.election_id('default', holder.service_name), 'default', holder.service_name,
            -- Its timeout is not known. This is the longest in use: nobody may lead before the holder has given up. That
            -- there is no channel, not even none, says so until somebody tells more.
            greatest(holder.term, 1), holder.leader_id, 90000000, holder.last_heartbeat + interval '90 seconds',
            holder.last_heartbeat, holder.metadata::text, greatest(holder.term, 1)
        )
        ON CONFLICT (id) DO UPDATE SET
            last_term = greatest(e.last_term, excluded.last_term), transitions = greatest(e.transitions, excluded.transitions);
    END LOOP;
    ALTER TABLE {compat}.leader_election RENAME TO leader_election_before_tenure;
END
$tenure$;

-- Shows what the table showed, for those who read it. Our terms do not fit into its integers, and fall with nothing less than
-- a failover; the number of changes fits, grows with every leader as well, and is the same for as long as one leads.
CREATE OR REPLACE VIEW {compat}.leader_election AS
    SELECT name::varchar(255) AS service_name, leader::varchar(255) AS leader_id,
        least(transitions, 2147483647)::integer AS term,
        expires_at - ttl_us * interval '1 microsecond' AS last_heartbeat,
        -- What no jsonb can hold is not shown.
        CASE WHEN position('\u0000' IN metadata) = 0 THEN metadata::jsonb END AS metadata
    FROM {schema}.election
    WHERE namespace = 'default' AND leader IS NOT NULL;

-- What is written there by hand. A row that is deleted ends the leadership of a participant that knows only its id; a leader
-- of ours is asked to hand over, because it trusts in its lease and has to stop first.
CREATE OR REPLACE FUNCTION {schema}.written_by_hand() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    e {schema}.election;
BEGIN
    IF TG_OP = 'INSERT' THEN
        RAISE EXCEPTION USING
            ERRCODE = '0A000', MESSAGE = 'nobody becomes leader by an INSERT; call try_become_leader(service, candidate, timeout)';
    END IF;
    PERFORM {schema}.be_durable();
    SELECT * INTO e FROM {schema}.election WHERE id = {schema}.election_id('default', OLD.service_name) FOR UPDATE;
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.service_name, NEW.leader_id, NEW.term) IS DISTINCT FROM (OLD.service_name, OLD.leader_id, OLD.term) THEN
            RAISE EXCEPTION USING
                ERRCODE = '0A000',
                MESSAGE = 'service_name, leader_id and term are not changed by hand; call step_down and try_become_leader';
        ELSIF NEW.last_heartbeat IS DISTINCT FROM OLD.last_heartbeat THEN
            RAISE EXCEPTION USING
                ERRCODE = '0A000', MESSAGE = 'last_heartbeat is not changed by hand; call leader_heartbeat(service, leader)';
        ELSIF e.nonce IS NOT NULL THEN
            RAISE EXCEPTION USING
                ERRCODE = '0A000', MESSAGE = format('%s publishes its metadata by itself; start it with others', e.leader);
        END IF;
        UPDATE {schema}.election SET metadata = NEW.metadata::text WHERE id = e.id AND leader = OLD.leader_id;
        RETURN NEW;
    END IF;
    IF e.nonce IS NOT NULL AND clock_timestamp() < e.expires_at THEN
        UPDATE {schema}.election SET handover = true, successor = NULL WHERE id = e.id;
        IF e.channel <> '' THEN
            PERFORM pg_notify(e.channel, E'0\n' || e.namespace || E'\n' || e.name);
        END IF;
    ELSIF e.leader IS NOT NULL THEN
        PERFORM {schema}.record_transition(
            e.id, e.transitions + 1, clock_timestamp(), e.last_term, e.leader, 'lost', 'revoked'
        );
        UPDATE {schema}.election SET
            transitions = e.transitions + 1, leader = NULL, nonce = NULL, ttl_us = NULL, expires_at = NULL, since = NULL,
            metadata = NULL, channel = NULL, handover = false, successor = NULL
        WHERE id = e.id;
    END IF;
    RETURN OLD;
END
$$;

CREATE OR REPLACE TRIGGER written_by_hand INSTEAD OF INSERT OR UPDATE OR DELETE ON {compat}.leader_election
FOR EACH ROW EXECUTE FUNCTION {schema}.written_by_hand();

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
    IF e.leader <> p_candidate_id AND e.nonce IS NULL AND e.channel IS NULL THEN
        -- It was taken over from the table of old, where whoever challenges decides after how long a holder is gone.
        e.expires_at := e.expires_at + (timeout_us - e.ttl_us) * interval '1 microsecond';
        UPDATE {schema}.election SET ttl_us = timeout_us, expires_at = e.expires_at, channel = '' WHERE id = election_id;
    END IF;
    IF e.leader IS NOT NULL AND at < e.expires_at THEN
        IF e.nonce IS NULL AND e.leader = p_candidate_id THEN
            UPDATE {schema}.election
            SET ttl_us = timeout_us, expires_at = at + timeout_us * interval '1 microsecond', channel = ''
            WHERE id = election_id;
            RETURN true;
        END IF;
        RETURN false;
    END IF;
    IF {schema}.is_reserved(e, at) THEN
        RETURN false;
    END IF;
    -- Metadata belong to the row there, and not to the leader.
    RETURN {schema}.grant_lease(
        e, p_candidate_id, NULL, timeout_us, CASE WHEN e.nonce IS NULL THEN coalesce(e.metadata, '{}') ELSE '{}' END, '', at
    ) IS NOT NULL;
END
$$;

CREATE OR REPLACE FUNCTION {compat}.leader_heartbeat(p_service_name varchar, p_leader_id varchar) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}.be_durable();
    -- The asker's own timeout when it took the lease rules, as it does for everybody. Of one that was taken over from the table
    -- of old nothing is known but how often it beats; three times that is what the recipe wants of a timeout.
    UPDATE {schema}.election AS e SET
        (ttl_us, expires_at, channel) = (
            SELECT known.ttl_us, clock_timestamp() + known.ttl_us * interval '1 microsecond', coalesce(e.channel, '')
            FROM (
                SELECT CASE WHEN e.channel IS NULL THEN
                    least(e.ttl_us, greatest(
                        30000000,
                        3 * (e.ttl_us - {schema}.micros_until(e.expires_at, clock_timestamp()))
                    ))
                ELSE e.ttl_us END AS ttl_us
            ) AS known
        )
    WHERE e.id = {schema}.election_id('default', p_service_name) AND e.leader = p_leader_id AND e.nonce IS NULL
        AND e.expires_at > clock_timestamp();
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
        IF known.may IN ('SELECT', 'UPDATE', 'DELETE') THEN
            EXECUTE 'GRANT ' || known.may || ' ON ' || {compat_table_literal} || ' TO ' || known.role;
        END IF;
        IF known.may = 'UPDATE' THEN
            EXECUTE 'GRANT EXECUTE ON FUNCTION ' || {compat_functions_literal} || ' TO ' || known.role;
        END IF;
    END LOOP;
    IF current_setting('tenure.compat_grants') <> '' THEN
        EXECUTE current_setting('tenure.compat_grants');
    END IF;
END
$tenure$;
