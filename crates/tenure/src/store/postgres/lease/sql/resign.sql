-- The first in line that is not known to be gone; if a successor is named, only that one will do.
CREATE OR REPLACE FUNCTION {schema}.next_in_line(p_election uuid, p_successor text, p_at timestamptz)
RETURNS {schema}.stand_by
LANGUAGE plpgsql AS $$
DECLARE
    s {schema}.stand_by;
BEGIN
    FOR s IN
        SELECT * FROM {schema}.stand_by
        WHERE election = p_election AND fresh_until > p_at AND (p_successor IS NULL OR candidate = p_successor)
        ORDER BY priority DESC, since, nonce
    LOOP
        -- Who does not listen looks by itself now and then.
        IF s.channel = '' OR {schema}.is_alive(s.listener) THEN
            RETURN s;
        END IF;
        DELETE FROM {schema}.stand_by WHERE election = p_election AND nonce = s.nonce;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.resign_in(
    p_id uuid, p_nonce uuid, p_term bigint, p_successor text, p_reason text, p_waits boolean
) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    e {schema}.election;
    s {schema}.stand_by;
    at timestamptz;
BEGIN
    IF p_waits THEN
        SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE;
    ELSE
        SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE SKIP LOCKED;
    END IF;
    IF NOT FOUND THEN
        RETURN NOT EXISTS (SELECT FROM {schema}.election WHERE id = p_id);
    END IF;
    at := clock_timestamp();
    DELETE FROM {schema}.stand_by WHERE election = p_id AND nonce = p_nonce;
    IF e.nonce = p_nonce AND (p_term IS NULL OR e.last_term = p_term) THEN
        PERFORM {schema}.record_transition(p_id, e.transitions + 1, at, e.last_term, e.leader, 'lost', p_reason);
        -- It is kept for the named successor, whether it is there or not, or else for the first in line.
        s := {schema}.next_in_line(p_id, p_successor, at);
        UPDATE {schema}.election SET
            leader = NULL, nonce = NULL, ttl_us = NULL, expires_at = NULL, since = NULL, metadata = NULL, channel = NULL,
            handover = false, successor = NULL,
            reserved_for = coalesce(p_successor, s.candidate), reserved_nonce = s.nonce,
            reserved_until = CASE WHEN coalesce(p_successor, s.candidate) IS NOT NULL THEN at + interval '1 second' END,
            transitions = e.transitions + 1
        WHERE id = p_id;
    ELSIF e.reserved_nonce = p_nonce THEN
        -- The successor has left: whoever comes next need not wait for it.
        UPDATE {schema}.election SET reserved_for = NULL, reserved_nonce = NULL, reserved_until = NULL WHERE id = p_id;
    END IF;
    RETURN true;
END
$$;

-- Returns the places of those that somebody else keeps locked.
CREATE OR REPLACE FUNCTION {schema}.resign(
    p_ids uuid[], p_nonces uuid[], p_terms bigint[], p_successors text[], p_reasons text[]
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    busy integer[] := '{}';
    waits boolean := true;
    i integer;
BEGIN
    PERFORM {schema}.be_durable();
    LOOP
        BEGIN
            FOR i IN SELECT place FROM unnest(p_ids) WITH ORDINALITY AS asked (id, place) ORDER BY id, place LOOP
                IF NOT {schema}.resign_in(p_ids[i], p_nonces[i], p_terms[i], p_successors[i], p_reasons[i], waits) THEN
                    busy := busy || i;
                END IF;
            END LOOP;
            RETURN busy;
        EXCEPTION WHEN lock_not_available THEN
            waits := false;
        END;
    END LOOP;
END
$$;

-- Wakes whoever comes next after a resignation: the successor now, and one more later in case it does not answer. It is a
-- statement of its own, because a queue of notifications that is full would undo the resignation. Where somebody leads,
-- whoever left was no leader, or has been followed already.
CREATE OR REPLACE FUNCTION {schema}.announce(p_ids uuid[], p_changes text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    e {schema}.election;
    s {schema}.stand_by;
    woken text;
    about text;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR e IN SELECT * FROM {schema}.election WHERE id = ANY (p_ids) AND leader IS NULL LOOP
        about := E'\n' || e.namespace || E'\n' || e.name;
        -- The resignation has just seen that the successor is there, and nobody else can have it meanwhile.
        SELECT channel INTO woken FROM {schema}.stand_by
        WHERE election = e.id AND nonce = e.reserved_nonce AND channel <> '' AND e.reserved_until > clock_timestamp();
        IF FOUND THEN
            PERFORM pg_notify(woken, '0' || about);
        END IF;
        FOR s IN
            SELECT * FROM {schema}.stand_by
            WHERE election = e.id AND channel <> '' AND fresh_until > clock_timestamp()
                AND (woken IS NULL OR nonce <> e.reserved_nonce)
            ORDER BY priority DESC, since, nonce
        LOOP
            CONTINUE WHEN NOT {schema}.is_alive(s.listener);
            PERFORM pg_notify(s.channel, CASE WHEN woken IS NULL THEN '0' ELSE '1000' END || about);
            EXIT WHEN woken IS NOT NULL;
            woken := s.channel;
        END LOOP;
        PERFORM pg_notify(p_changes, '0' || about);
    END LOOP;
END
$$;
