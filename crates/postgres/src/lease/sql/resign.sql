-- For whom a lease is kept that was released: for the named successor, if it stands by or has not come yet, or else for the
-- first in line. Who is known to be gone is dropped and passed over; who does not listen looks by itself now and then.
CREATE OR REPLACE FUNCTION {schema}.successor_of(
    p_election uuid, p_named text, p_at timestamptz, OUT candidate text, OUT nonce uuid
)
LANGUAGE plpgsql AS $$
DECLARE
    s {schema}.stand_by;
    was_there boolean := false;
BEGIN
    IF p_named IS NOT NULL THEN
        FOR s IN
            SELECT * FROM {schema}.stand_by AS named
            WHERE named.election = p_election AND named.candidate = p_named AND named.fresh_until > p_at
            ORDER BY named.priority DESC, named.since, named.nonce LIMIT 64
        LOOP
            was_there := true;
            EXIT WHEN s.channel = '' OR {schema}.is_alive(s.listener);
            DELETE FROM {schema}.stand_by AS gone WHERE gone.election = p_election AND gone.nonce = s.nonce;
            s := NULL;
        END LOOP;
        IF s.nonce IS NOT NULL OR NOT was_there THEN
            candidate := p_named;
            nonce := s.nonce;
            RETURN;
        END IF;
    END IF;
    LOOP
        -- Some at a time, or the server would put all of them in order first.
        FOR s IN
            SELECT * FROM {schema}.stand_by AS next
            WHERE next.election = p_election AND next.fresh_until > p_at
            ORDER BY next.priority DESC, next.since, next.nonce LIMIT 16
        LOOP
            IF s.channel = '' OR {schema}.is_alive(s.listener) THEN
                candidate := s.candidate;
                nonce := s.nonce;
                RETURN;
            END IF;
            DELETE FROM {schema}.stand_by AS gone WHERE gone.election = p_election AND gone.nonce = s.nonce;
        END LOOP;
        EXIT WHEN NOT FOUND;
    END LOOP;
END
$$;

-- Returns whether anything was released or passed on; null if somebody else keeps the election locked. Whoever releases the
-- lease waits for followers and for claims that are under way; whoever only leaves the line does not, and there may be many.
CREATE OR REPLACE FUNCTION {schema}.resign_in(
    p_id uuid, p_nonce uuid, p_term bigint, p_successor text, p_reason text, p_waits boolean
) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    e {schema}.election;
    at timestamptz;
    owns boolean;
    kept_for text;
    kept_for_nonce uuid;
    kept_until timestamptz;
BEGIN
    IF p_waits THEN
        SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR NO KEY UPDATE;
        IF e.nonce = p_nonce THEN
            SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE;
        END IF;
    ELSE
        SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR NO KEY UPDATE SKIP LOCKED;
        IF e.nonce = p_nonce THEN
            SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE SKIP LOCKED;
        END IF;
    END IF;
    IF e.id IS NULL THEN
        RETURN CASE WHEN NOT EXISTS (SELECT FROM {schema}.election WHERE id = p_id) THEN false END;
    END IF;
    at := clock_timestamp();
    DELETE FROM {schema}.stand_by WHERE election = p_id AND nonce = p_nonce;
    owns := coalesce(e.nonce = p_nonce AND (p_term IS NULL OR e.last_term = p_term), false);
    IF NOT owns AND e.reserved_nonce IS DISTINCT FROM p_nonce THEN
        RETURN false;
    END IF;
    -- A successor that leaves passes on what is still kept for it.
    IF owns OR {schema}.is_reserved(e, at) THEN
        SELECT candidate, nonce INTO kept_for, kept_for_nonce
        FROM {schema}.successor_of(p_id, CASE WHEN owns THEN p_successor END, at);
        kept_until := CASE WHEN kept_for IS NOT NULL THEN at + interval '1 second' END;
    END IF;
    IF owns THEN
        PERFORM {schema}.record_transition(p_id, e.transitions + 1, at, e.last_term, e.leader, 'lost', p_reason);
        UPDATE {schema}.election SET
            leader = NULL, nonce = NULL, ttl_us = NULL, expires_at = NULL, since = NULL, metadata = NULL, channel = NULL,
            handover = false, successor = NULL, reserved_for = kept_for, reserved_nonce = kept_for_nonce,
            reserved_until = kept_until, transitions = e.transitions + 1
        WHERE id = p_id;
    ELSE
        UPDATE {schema}.election SET
            reserved_for = kept_for, reserved_nonce = kept_for_nonce, reserved_until = kept_until
        WHERE id = p_id;
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
    busy integer[];
    waits boolean := true;
    is_any_released boolean;
    is_released boolean;
    i integer;
BEGIN
    LOOP
        busy := '{}';
        is_any_released := false;
        BEGIN
            FOR i IN SELECT place FROM unnest(p_ids) WITH ORDINALITY AS asked (id, place) ORDER BY id, place LOOP
                is_released :=
                    {schema}.resign_in(p_ids[i], p_nonces[i], p_terms[i], p_successors[i], p_reasons[i], waits);
                IF is_released IS NULL THEN
                    busy := busy || i;
                END IF;
                is_any_released := is_any_released OR coalesce(is_released, false);
            END LOOP;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            waits := false;
        END;
    END LOOP;
    IF is_any_released THEN
        PERFORM {schema}.be_durable();
    ELSE
        -- Nothing is lost with a stand-by that is still there after a crash: it is cleared away later.
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    RETURN busy;
END
$$;

-- How long whoever has this number in line waits before it looks, in milliseconds: the successor not at all, the others until
-- the reservation is over, one after the other and all of them within another one.
CREATE OR REPLACE FUNCTION {schema}.looks_after(p_number integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_number = 0 THEN '0' ELSE (1000 + (p_number - 1) * 125 / 2)::text END
$$;

-- Wakes the first sixteen in line of one election, each process once, or fewer when many of the first 64 are gone.
CREATE OR REPLACE FUNCTION {schema}.wake(e {schema}.election, p_about text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    s {schema}.stand_by;
    told text[] := '{}';
    number integer := 0;
    number_max integer := 16;
BEGIN
    IF {schema}.is_reserved(e, p_at) THEN
        -- Whoever waits for a successor that does not stand by yet is not the successor.
        number := 1;
        IF e.reserved_nonce IS NULL THEN
            number_max := 17;
        ELSE
            -- The resignation has just seen that it is there, and nobody else can have the lease meanwhile.
            SELECT * INTO s FROM {schema}.stand_by WHERE election = e.id AND nonce = e.reserved_nonce;
            IF s.channel <> '' THEN
                PERFORM pg_notify(s.channel, '0' || p_about);
                told := told || s.channel;
            END IF;
        END IF;
    END IF;
    FOR s IN
        SELECT * FROM {schema}.stand_by WHERE election = e.id AND fresh_until > p_at
        ORDER BY priority DESC, since, nonce LIMIT 64
    LOOP
        EXIT WHEN number >= number_max;
        CONTINUE WHEN s.nonce = e.reserved_nonce OR (s.channel <> '' AND NOT {schema}.is_alive(s.listener));
        IF s.channel <> '' AND s.channel <> ALL (told) THEN
            PERFORM pg_notify(s.channel, {schema}.looks_after(number) || p_about);
            told := told || s.channel;
        END IF;
        number := number + 1;
    END LOOP;
END
$$;

-- Tells those who stand by of a resignation. It is a statement of its own, because a queue of notifications that is full would
-- undo the resignation. Where somebody leads, whoever left was no leader, or has been followed already.
CREATE OR REPLACE FUNCTION {schema}.announce(p_ids uuid[], p_changes text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    e {schema}.election;
    about text;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR e IN SELECT * FROM {schema}.election WHERE id = ANY (p_ids) AND leader IS NULL LOOP
        about := E'\n' || e.namespace || E'\n' || e.name;
        PERFORM {schema}.wake(e, about, clock_timestamp());
        PERFORM pg_notify(p_changes, '0' || about);
    END LOOP;
END
$$;
