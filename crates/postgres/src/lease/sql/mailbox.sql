-- Leaves messages for whoever leads, in the order of the batch. Returns the places of those for which there is no room.
CREATE OR REPLACE FUNCTION {schema}.send(
    p_elections uuid[], p_ids uuid[], p_channels text[], p_senders text[], p_payloads text[], p_waiting_max bigint,
    p_namespaces text[], p_names text[]
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    refused integer[] := '{}';
    box {schema}.mailbox;
    i integer;
BEGIN
    PERFORM {schema}.be_durable();
    -- Everybody locks in the same order, so that nobody waits in a circle.
    INSERT INTO {schema}.mailbox AS b (election, namespace, name)
    SELECT DISTINCT ON (asked.election) asked.election, asked.namespace, asked.name
    FROM unnest(p_elections, p_namespaces, p_names) AS asked (election, namespace, name) ORDER BY asked.election
    ON CONFLICT (election) DO UPDATE SET namespace = excluded.namespace, name = excluded.name WHERE b.name IS NULL;
    PERFORM FROM {schema}.mailbox WHERE election = ANY (p_elections) ORDER BY election FOR UPDATE;
    FOR i IN 1 .. cardinality(p_ids) LOOP
        CONTINUE WHEN EXISTS (SELECT FROM {schema}.message WHERE election = p_elections[i] AND id = p_ids[i]);
        UPDATE {schema}.mailbox SET waiting = waiting + 1, last_place = last_place + 1
        WHERE election = p_elections[i] AND waiting < p_waiting_max RETURNING * INTO box;
        IF NOT FOUND THEN
            refused := refused || i;
            CONTINUE;
        END IF;
        INSERT INTO {schema}.message (election, id, place, channel, sender, payload, sent_at)
        VALUES (p_elections[i], p_ids[i], box.last_place, p_channels[i], p_senders[i], p_payloads[i], clock_timestamp());
    END LOOP;
    RETURN refused;
END
$$;

-- Wakes those who lead: messages may wait for them.
CREATE OR REPLACE FUNCTION {schema}.announce_messages(p_elections uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_notify(channel, E'm\n' || namespace || E'\n' || name) FROM {schema}.election
    WHERE id = ANY (p_elections) AND channel <> '' AND expires_at > clock_timestamp();
END
$$;

-- Nothing at all if the asker does not hold the lease; else a first row without an id, and then the messages. It is stable,
-- so both are seen at one moment.
CREATE OR REPLACE FUNCTION {schema}.receive(
    p_election uuid, p_nonce uuid, p_term bigint, p_channels text[], p_except_channels text[], p_except_senders text[],
    p_limit bigint
) RETURNS TABLE (id uuid, channel text, sender text, payload text, sent_at_ms bigint, attempts integer, last_error text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM {schema}.election AS e
        WHERE e.id = p_election AND e.nonce = p_nonce AND e.last_term = p_term AND e.expires_at > clock_timestamp()
    ) THEN
        RETURN;
    END IF;
    RETURN NEXT;
    RETURN QUERY
    SELECT m.id, m.channel, m.sender, m.payload, {schema}.unix_ms(m.sent_at), m.attempts, m.last_error
    FROM {schema}.message AS m
    WHERE m.election = p_election AND NOT m.is_aside AND m.channel = ANY (p_channels) AND NOT EXISTS (
        SELECT FROM unnest(p_except_channels, p_except_senders) AS except_line (channel, sender)
        WHERE except_line.channel = m.channel AND except_line.sender = m.sender
    )
    ORDER BY m.place LIMIT p_limit;
END
$$;

-- Says what became of messages. Returns the dead letters that had to be dropped; null if the asker does not hold
-- the lease, which cannot change hands meanwhile.
CREATE OR REPLACE FUNCTION {schema}.settle(
    p_election uuid, p_nonce uuid, p_term bigint, p_ids uuid[], p_fates text[], p_attempts integer[], p_reasons text[],
    p_aside_max bigint
) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    gone integer := 0;
    dropped uuid[];
    box {schema}.mailbox;
    i integer;
BEGIN
    PERFORM FROM {schema}.election
    WHERE id = p_election AND nonce = p_nonce AND last_term = p_term AND expires_at > clock_timestamp() FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- What is forgotten of this in a crash is handled once more, and nothing is lost by it.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT * INTO box FROM {schema}.mailbox WHERE election = p_election FOR UPDATE;
    FOR i IN 1 .. cardinality(p_ids) LOOP
        IF p_fates[i] = 'done' THEN
            DELETE FROM {schema}.message WHERE election = p_election AND id = p_ids[i] AND NOT is_aside;
        ELSE
            -- Told twice, it counts once.
            UPDATE {schema}.message SET
                attempts = greatest(attempts, p_attempts[i]), last_error = p_reasons[i],
                is_aside = p_fates[i] = 'aside',
                place = CASE WHEN p_fates[i] = 'aside' THEN box.last_place + i ELSE place END
            WHERE election = p_election AND id = p_ids[i] AND NOT is_aside;
        END IF;
        IF FOUND AND p_fates[i] <> 'failed' THEN
            gone := gone + 1;
        END IF;
    END LOOP;
    WITH overdue AS (
        DELETE FROM {schema}.message WHERE election = p_election AND is_aside AND place <= (
            SELECT place FROM {schema}.message WHERE election = p_election AND is_aside
            ORDER BY place DESC OFFSET p_aside_max LIMIT 1
        )
        RETURNING id
    )
    SELECT coalesce(array_agg(id), '{}') INTO dropped FROM overdue;
    UPDATE {schema}.mailbox SET waiting = waiting - gone, last_place = last_place + cardinality(p_ids)
    WHERE election = p_election;
    RETURN dropped;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.messages(p_election uuid, p_is_aside boolean, p_limit bigint) RETURNS TABLE (
    id uuid, channel text, sender text, payload text, sent_at_ms bigint, attempts integer, last_error text
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT id, channel, sender, payload, {schema}.unix_ms(sent_at), attempts, last_error FROM {schema}.message
    WHERE election = p_election AND is_aside = p_is_aside ORDER BY place LIMIT p_limit
$$;

-- How many messages this election has, or each of the namespace that has any.
CREATE OR REPLACE FUNCTION {schema}.count_messages(p_namespace text, p_only uuid)
RETURNS TABLE (name text, waiting bigint, aside bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT b.name, b.waiting, (SELECT count(*) FROM {schema}.message AS m WHERE m.election = b.election AND m.is_aside)
    FROM {schema}.mailbox AS b
    WHERE b.namespace = p_namespace AND (p_only IS NULL OR b.election = p_only)
        AND EXISTS (SELECT FROM {schema}.message AS m WHERE m.election = b.election)
    ORDER BY b.name
$$;

-- Puts dead letters back in line: these, or all. Returns how many.
CREATE OR REPLACE FUNCTION {schema}.requeue(p_election uuid, p_ids uuid[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    box {schema}.mailbox;
    moved bigint;
BEGIN
    PERFORM {schema}.be_durable();
    SELECT * INTO box FROM {schema}.mailbox WHERE election = p_election FOR UPDATE;
    WITH wanted AS (
        SELECT id, row_number() OVER (ORDER BY place) AS number FROM {schema}.message
        WHERE election = p_election AND is_aside AND (p_ids IS NULL OR id = ANY (p_ids))
    )
    UPDATE {schema}.message AS m
    SET is_aside = false, attempts = 0, last_error = NULL, place = box.last_place + wanted.number
    FROM wanted WHERE m.election = p_election AND m.id = wanted.id;
    GET DIAGNOSTICS moved = ROW_COUNT;
    UPDATE {schema}.mailbox SET waiting = waiting + moved, last_place = last_place + moved WHERE election = p_election;
    RETURN moved;
END
$$;
