-- Tells only of what is not simply renewed: of thousands of leases usually nothing. What it says of the lock is told apart,
-- because a row that somebody keeps locked must not cost the other leases.
CREATE OR REPLACE FUNCTION {schema}.renew(
    p_ids uuid[], p_nonces uuid[], p_terms bigint[], p_ttls_us bigint[], p_channel text
) RETURNS TABLE (place integer, verdict text, term bigint, successor text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    free uuid[];
BEGIN
    PERFORM {schema}.be_durable();
    BEGIN
        RETURN QUERY SELECT * FROM {schema}.renew_in(p_ids, p_nonces, p_terms, p_ttls_us, p_channel);
    EXCEPTION WHEN lock_not_available THEN
        SELECT array_agg(locked.id) INTO free FROM (
            SELECT e.id FROM {schema}.election AS e WHERE e.id = ANY (p_ids) ORDER BY e.id FOR NO KEY UPDATE SKIP LOCKED
        ) AS locked;
        RETURN QUERY
            SELECT said.place, CASE WHEN p_ids[said.place] = ANY (free) THEN said.verdict ELSE 'busy' END, said.term, said.successor
            FROM {schema}.renew_in(
                (SELECT array_agg(CASE WHEN id = ANY (free) THEN id END ORDER BY asked.place)
                 FROM unnest(p_ids) WITH ORDINALITY AS asked (id, place)),
                p_nonces, p_terms, p_ttls_us, p_channel
            ) AS said;
    END;
    PERFORM {schema}.drop_stale();
    place := 0;
    verdict := 'now';
    term := {schema}.unix_ms(clock_timestamp());
    successor := NULL;
    RETURN NEXT;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.renew_in(
    p_ids uuid[], p_nonces uuid[], p_terms bigint[], p_ttls_us bigint[], p_channel text
) RETURNS TABLE (place integer, verdict text, term bigint, successor text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    WITH asked AS (
        SELECT * FROM unnest(p_ids, p_nonces, p_terms, p_ttls_us) WITH ORDINALITY AS a (id, nonce, term, ttl_us, place)
    ), renewed AS (
        UPDATE {schema}.election AS e
        SET expires_at = clock_timestamp() + asked.ttl_us * interval '1 microsecond', ttl_us = asked.ttl_us,
            channel = p_channel
        FROM asked
        WHERE e.id = asked.id AND e.nonce = asked.nonce AND e.last_term = asked.term
            AND e.expires_at > clock_timestamp()
        RETURNING e.id, e.nonce, e.handover, e.successor
    )
    SELECT asked.place::integer, CASE WHEN renewed.id IS NULL THEN 'lost' ELSE 'handover' END, e.last_term, renewed.successor
    FROM asked
    LEFT JOIN renewed ON renewed.id = asked.id AND renewed.nonce = asked.nonce
    LEFT JOIN {schema}.election AS e ON renewed.id IS NULL AND e.id = asked.id
    WHERE renewed.id IS NULL OR renewed.handover;
END
$$;
