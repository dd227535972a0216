-- Whether a lease that was released is kept for somebody. One that would last longer than any reservation does was made
-- before the clock was set back, and is over.
CREATE OR REPLACE FUNCTION {schema}.is_reserved(e {schema}.election, p_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT e.reserved_for IS NOT NULL AND p_at < e.reserved_until AND e.reserved_until <= p_at + interval '1 second'
$$;

-- Whether it is kept for somebody else than this candidate.
CREATE OR REPLACE FUNCTION {schema}.is_reserved_against(
    e {schema}.election, p_nonce uuid, p_candidate text, p_at timestamptz
) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT {schema}.is_reserved(e, p_at)
        AND CASE WHEN e.reserved_nonce IS NULL THEN e.reserved_for <> p_candidate ELSE e.reserved_nonce <> p_nonce END
$$;

-- Ends the last lease, if it ran out, and begins a new one. The row is locked.
CREATE OR REPLACE FUNCTION {schema}.grant_lease(
    e {schema}.election, p_candidate text, p_nonce uuid, p_ttl_us bigint, p_metadata text, p_channel text,
    p_at timestamptz
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    -- An election that has no term yet may be one that was forgotten. Asked here, where the row is locked: whoever
    -- forgets it has locked it, too.
    lowest bigint := CASE WHEN e.last_term = 0
        THEN (SELECT f.last_term FROM {schema}.forgotten AS f WHERE f.namespace = e.namespace)
        ELSE e.last_term END;
    new_term bigint := greatest(lowest, e.terms_above, {schema}.timeline() << 40) + 1;
    recorded bigint := e.transitions;
BEGIN
    -- After 2^53 grants there is nothing left to give: nobody leads rather than somebody twice.
    IF new_term > 9007199254740992 THEN
        RETURN NULL;
    END IF;
    IF e.leader IS NOT NULL THEN
        recorded := recorded + 1;
        PERFORM {schema}.record_transition(e.id, recorded, p_at, e.last_term, e.leader, 'lost', 'expired');
    END IF;
    recorded := recorded + 1;
    PERFORM {schema}.record_transition(e.id, recorded, p_at, new_term, p_candidate, 'elected', 'granted');
    DELETE FROM {schema}.stand_by WHERE election = e.id AND nonce = p_nonce;
    UPDATE {schema}.election SET
        last_term = new_term, leader = p_candidate, nonce = p_nonce, ttl_us = p_ttl_us,
        expires_at = p_at + p_ttl_us * interval '1 microsecond', since = p_at, metadata = p_metadata,
        channel = p_channel, handover = false, successor = NULL,
        reserved_for = NULL, reserved_nonce = NULL, reserved_until = NULL, transitions = recorded
    WHERE id = e.id;
    RETURN new_term;
END
$$;

-- Records that a candidate stands by, and returns how many come before it, as far as it makes a difference: not all of the
-- line is looked through.
CREATE OR REPLACE FUNCTION {schema}.stand_by_for(
    p_election uuid, p_nonce uuid, p_candidate text, p_priority integer, p_fresh_us bigint, p_channel text,
    p_listener integer, p_at timestamptz
) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    own {schema}.stand_by;
    until timestamptz := p_at + p_fresh_us * interval '1 microsecond';
BEGIN
    UPDATE {schema}.stand_by AS s SET
        fresh_until = until, channel = p_channel, listener = p_listener,
        -- Whoever was away too long has lost its place, and comes as if for the first time.
        since = CASE WHEN p_at < s.fresh_until THEN s.since ELSE p_at END,
        priority = CASE WHEN p_at < s.fresh_until THEN s.priority ELSE p_priority END
    WHERE s.election = p_election AND s.nonce = p_nonce
    RETURNING * INTO own;
    IF NOT FOUND THEN
        INSERT INTO {schema}.stand_by
        VALUES (p_election, p_nonce, p_candidate, p_priority, p_at, until, p_channel, p_listener)
        RETURNING * INTO own;
    END IF;
    RETURN (
        SELECT count(*) FROM (
            SELECT s.priority, s.since, s.nonce FROM {schema}.stand_by AS s
            WHERE s.election = p_election AND s.fresh_until > p_at
            ORDER BY s.priority DESC, s.since, s.nonce LIMIT 64
        ) AS first
        WHERE first.priority > own.priority
            OR (first.priority = own.priority AND (first.since, first.nonce) < (own.since, own.nonce))
    );
END
$$;

-- What is wrong with the row of an election, if it is none that was written here. Nobody is granted a term by one: it could
-- be a term that somebody had before.
CREATE OR REPLACE FUNCTION {schema}.damage_of(e {schema}.election) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF e.last_term NOT BETWEEN 0 AND 9007199254740992 THEN
        RETURN 'last_term is ' || e.last_term;
    ELSIF e.leader IS NOT NULL AND (e.ttl_us IS NULL OR e.expires_at IS NULL OR e.since IS NULL) THEN
        RETURN 'somebody leads, and ttl_us, expires_at or since is null';
    END IF;
    RETURN NULL;
END
$$;

-- One step on one election. Followers do not lock out the leader's renewals, and do not wait for them; whoever takes or
-- releases the lease waits for them, and they for it, so that no stand-by is overlooked.
CREATE OR REPLACE FUNCTION {schema}.campaign_in(
    p_place integer, p_id uuid, p_namespace text, p_name text, p_candidate text, p_nonce uuid, p_ttl_us bigint,
    p_priority integer, p_metadata text, p_fresh_us bigint, p_channel text, p_listener integer, p_waits boolean
) RETURNS {schema}.campaign_reply
LANGUAGE plpgsql AS $$
DECLARE
    e {schema}.election;
    at timestamptz;
    reply {schema}.campaign_reply;
BEGIN
    reply.place := p_place;
    SELECT * INTO e FROM {schema}.election WHERE id = p_id;
    IF NOT FOUND THEN
        INSERT INTO {schema}.election (id, namespace, name) VALUES (p_id, p_namespace, p_name) ON CONFLICT DO NOTHING;
        SELECT * INTO e FROM {schema}.election WHERE id = p_id;
    END IF;
    reply.metadata := {schema}.damage_of(e);
    IF reply.metadata IS NOT NULL THEN
        reply.verdict := 'damaged';
        RETURN reply;
    END IF;
    at := clock_timestamp();
    IF e.nonce = p_nonce
        OR ((e.leader IS NULL OR e.expires_at <= at) AND NOT {schema}.is_reserved_against(e, p_nonce, p_candidate, at))
    THEN
        IF p_waits THEN
            SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE;
        ELSE
            SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE SKIP LOCKED;
        END IF;
        IF NOT FOUND THEN
            reply.verdict := 'busy';
            RETURN reply;
        END IF;
        -- Only now: the lock may have been waited for.
        at := clock_timestamp();
        IF e.leader IS NOT NULL AND at < e.expires_at THEN
            IF e.nonce = p_nonce THEN
                UPDATE {schema}.election SET
                    ttl_us = p_ttl_us, expires_at = at + p_ttl_us * interval '1 microsecond', channel = p_channel
                WHERE id = p_id;
                reply.verdict := 'granted';
                reply.term := e.last_term;
                reply.is_new := false;
                RETURN reply;
            END IF;
        ELSIF NOT {schema}.is_reserved_against(e, p_nonce, p_candidate, at) THEN
            reply.term := {schema}.grant_lease(e, p_candidate, p_nonce, p_ttl_us, p_metadata, p_channel, at);
            reply.verdict := CASE WHEN reply.term IS NULL THEN 'exhausted' ELSE 'granted' END;
            reply.is_new := true;
            reply.ran_out_us := CASE WHEN e.leader IS NOT NULL THEN e.ttl_us END;
            RETURN reply;
        END IF;
    ELSE
        IF p_waits THEN
            SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR KEY SHARE;
        ELSE
            SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR KEY SHARE SKIP LOCKED;
        END IF;
        IF NOT FOUND THEN
            reply.verdict := 'busy';
            RETURN reply;
        END IF;
        at := clock_timestamp();
        IF p_waits AND e.expires_at > at + e.ttl_us * interval '1 microsecond' THEN
            -- When the clock was set back, a lease would last as much longer. It never had more left than its ttl.
            UPDATE {schema}.election SET expires_at = at + ttl_us * interval '1 microsecond'
            WHERE id = p_id AND expires_at > at + ttl_us * interval '1 microsecond';
        END IF;
    END IF;
    reply.verdict := 'held';
    reply.rank := {schema}.stand_by_for(
        p_id, p_nonce, p_candidate, p_priority, p_fresh_us, p_channel, p_listener, at
    );
    IF e.leader IS NOT NULL AND at < e.expires_at THEN
        reply.term := e.last_term;
        reply.leader := e.leader;
        reply.is_foreign := e.nonce IS NULL;
        reply.since_ms := {schema}.unix_ms(e.since);
        reply.metadata := e.metadata;
        reply.remaining_us := least({schema}.micros_until(e.expires_at, at), e.ttl_us);
    ELSIF {schema}.is_reserved_against(e, p_nonce, p_candidate, at) THEN
        reply.remaining_us := {schema}.micros_until(e.reserved_until, at);
    ELSE
        -- It has become free between the two looks.
        reply.remaining_us := 0;
    END IF;
    RETURN reply;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.campaign_in_turn(
    p_ids uuid[], p_namespaces text[], p_names text[], p_candidates text[], p_nonces uuid[], p_ttls_us bigint[],
    p_priorities integer[], p_metadata text[], p_fresh_us bigint[], p_channel text, p_listener integer, p_waits boolean
) RETURNS {schema}.campaign_reply[]
LANGUAGE plpgsql AS $$
DECLARE
    replies {schema}.campaign_reply[] := '{}';
    i integer;
BEGIN
    -- Everybody locks in the same order, so that nobody waits in a circle.
    FOR i IN SELECT place FROM unnest(p_ids) WITH ORDINALITY AS asked (id, place) ORDER BY id, place LOOP
        replies := replies || {schema}.campaign_in(
            i, p_ids[i], p_namespaces[i], p_names[i], p_candidates[i], p_nonces[i], p_ttls_us[i], p_priorities[i],
            p_metadata[i], p_fresh_us[i], p_channel, p_listener, p_waits
        );
    END LOOP;
    RETURN replies;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.campaign(
    p_ids uuid[], p_namespaces text[], p_names text[], p_candidates text[], p_nonces uuid[], p_ttls_us bigint[],
    p_priorities integer[], p_metadata text[], p_fresh_us bigint[], p_channel text, p_listener integer,
    OUT replies {schema}.campaign_reply[], OUT now_ms bigint
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
BEGIN
    BEGIN
        replies := {schema}.campaign_in_turn(
            p_ids, p_namespaces, p_names, p_candidates, p_nonces, p_ttls_us, p_priorities, p_metadata, p_fresh_us,
            p_channel, p_listener, true
        );
    EXCEPTION WHEN lock_not_available THEN
        -- One row that somebody keeps locked must not hold up the others.
        replies := {schema}.campaign_in_turn(
            p_ids, p_namespaces, p_names, p_candidates, p_nonces, p_ttls_us, p_priorities, p_metadata, p_fresh_us,
            p_channel, p_listener, false
        );
    END;
    PERFORM {schema}.drop_stale();
    IF EXISTS (SELECT FROM unnest(replies) WHERE verdict = 'granted') THEN
        PERFORM {schema}.be_durable();
    ELSE
        -- Nothing is lost with a stand-by that is forgotten in a crash: it asks again.
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    now_ms := {schema}.unix_ms(clock_timestamp());
END
$$;
