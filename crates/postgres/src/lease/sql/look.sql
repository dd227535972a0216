CREATE OR REPLACE FUNCTION {schema}.observe(p_ids uuid[]) RETURNS TABLE (
    place integer, last_term bigint, leader text, since_ms bigint, metadata text, remaining_us bigint, ttl_us bigint,
    reserved_for text, stand_bys text[], priorities integer[], stand_by_since_ms bigint[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT asked.place::integer, e.last_term, lease.leader, {schema}.unix_ms(lease.since), lease.metadata,
        CASE WHEN lease.expires_at IS NOT NULL THEN least({schema}.micros_until(lease.expires_at, at), lease.ttl_us) END,
        lease.ttl_us,
        CASE WHEN lease.id IS NULL AND {schema}.is_reserved(e, at) THEN e.reserved_for END,
        waiting.candidates, waiting.priorities, waiting.since_ms
    FROM unnest(p_ids) WITH ORDINALITY AS asked (id, place)
    JOIN {schema}.election AS e ON e.id = asked.id
    LEFT JOIN {schema}.election AS lease ON lease.id = e.id AND lease.leader IS NOT NULL
        AND (lease.expires_at IS NULL OR at < lease.expires_at)
    CROSS JOIN LATERAL (
        SELECT array_agg(s.candidate ORDER BY s.priority DESC, s.since, s.nonce) AS candidates,
            array_agg(s.priority ORDER BY s.priority DESC, s.since, s.nonce) AS priorities,
            array_agg({schema}.unix_ms(s.since) ORDER BY s.priority DESC, s.since, s.nonce) AS since_ms
        FROM {schema}.stand_by AS s
        WHERE s.election = e.id AND at < s.fresh_until AND (s.channel = '' OR s.listener IN (SELECT pid FROM pg_stat_get_activity(NULL)))
    ) AS waiting;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.elections(p_namespace text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT name FROM {schema}.election WHERE namespace = p_namespace AND last_term <> 0 ORDER BY name
$$;

CREATE OR REPLACE FUNCTION {schema}.history(p_id uuid, p_limit bigint) RETURNS TABLE (
    at_ms bigint, term bigint, candidate text, change text, reason text
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT {schema}.unix_ms(at), term, candidate, change, reason FROM {schema}.transition
    WHERE election = p_id ORDER BY number DESC LIMIT p_limit
$$;

-- Returns where the leader's process listens; null when nobody can ask it, and nothing when nobody leads.
CREATE OR REPLACE FUNCTION {schema}.request_handover(p_id uuid, p_successor text) RETURNS SETOF text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
    UPDATE {schema}.election SET handover = true, successor = p_successor
    WHERE id = p_id AND leader IS NOT NULL AND clock_timestamp() < expires_at
    RETURNING CASE WHEN nonce IS NOT NULL THEN coalesce(channel, '') END
$$;

CREATE OR REPLACE FUNCTION {schema}.schema_version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT version FROM {schema}.version
$$;

-- A write that changes nothing: it shows that others would be taken, too.
CREATE OR REPLACE FUNCTION {schema}.touch() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
    UPDATE {schema}.version SET version = version
$$;
