-- Removes all that is kept of an election that nobody uses, and says what became of it. What is damaged is removed if it need
-- not be idle. Every grant has left its term among the transitions; where there are none, terms go on above all that this
-- timeline can have given.
CREATE OR REPLACE FUNCTION {schema}.forget(p_id uuid, p_idle_us bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    e {schema}.election;
    at timestamptz;
    changed_at timestamptz;
    highest bigint;
BEGIN
    SELECT * INTO e FROM {schema}.election WHERE id = p_id FOR UPDATE;
    IF NOT FOUND OR e.last_term = 0 THEN
        -- A message may wait for the first leader.
        RETURN CASE
            WHEN EXISTS (SELECT FROM {schema}.message WHERE election = p_id AND NOT is_aside) THEN 'messages'
            ELSE 'unknown'
        END;
    END IF;
    IF p_idle_us > 0 AND {schema}.damage_of(e) IS NOT NULL THEN
        RETURN 'damaged';
    END IF;
    PERFORM {schema}.be_durable();
    at := clock_timestamp();
    IF (e.leader IS NOT NULL AND at < e.expires_at) OR {schema}.is_reserved(e, at) THEN
        RETURN 'led';
    END IF;
    IF EXISTS (SELECT FROM {schema}.stand_by WHERE election = p_id AND fresh_until > at) THEN
        RETURN 'stood by';
    END IF;
    -- Locked, so that nobody sends a message that would be lost.
    PERFORM FROM {schema}.mailbox WHERE election = p_id FOR UPDATE;
    IF EXISTS (SELECT FROM {schema}.message WHERE election = p_id AND NOT is_aside) THEN
        RETURN 'messages';
    END IF;
    -- A lease that ran out without a word is ended here, so that its age counts from a moment that is written down.
    IF e.leader IS NOT NULL THEN
        PERFORM {schema}.record_transition(p_id, e.transitions + 1, at, e.last_term, e.leader, 'lost', 'expired');
        UPDATE {schema}.election SET
            leader = NULL, nonce = NULL, ttl_us = NULL, expires_at = NULL, since = NULL, metadata = NULL, channel = NULL,
            handover = false, successor = NULL, transitions = e.transitions + 1
        WHERE id = p_id;
    END IF;
    SELECT max(t.at) INTO changed_at FROM {schema}.transition AS t WHERE t.election = p_id;
    IF changed_at > at - p_idle_us * interval '1 microsecond' THEN
        RETURN 'recent';
    END IF;
    SELECT max(known.term) INTO highest FROM (
        SELECT e.last_term UNION ALL SELECT e.terms_above UNION ALL SELECT t.term FROM {schema}.transition AS t WHERE t.election = p_id
    ) AS known (term) WHERE known.term BETWEEN 1 AND 9007199254740992;
    INSERT INTO {schema}.forgotten AS f (namespace, last_term)
    VALUES (e.namespace, coalesce(highest, ({schema}.timeline() + 1) << 40))
    ON CONFLICT (namespace) DO UPDATE SET last_term = greatest(f.last_term, excluded.last_term);
    DELETE FROM {schema}.run WHERE election = p_id;
    DELETE FROM {schema}.job WHERE election = p_id;
    DELETE FROM {schema}.message WHERE election = p_id;
    DELETE FROM {schema}.mailbox WHERE election = p_id;
    DELETE FROM {schema}.stand_by WHERE election = p_id;
    DELETE FROM {schema}.transition WHERE election = p_id;
    DELETE FROM {schema}.election WHERE id = p_id;
    RETURN 'forgotten';
END
$$;
