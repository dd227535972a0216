-- Frees locks, and then takes off what they were marked with. If all of them are free it says so in the session, where what
-- is sent right behind it can read it.
WITH released AS MATERIALIZED (
    SELECT id, pg_advisory_unlock(id) AS is_released, pg_advisory_unlock_shared(tag, term::bit(32)::int) AS is_unmarked
    FROM unnest($1::bigint[], $2::int[], $3::bigint[]) AS led (id, tag, term)
    WHERE current_setting('tenure.session', true) = $4
), settings AS MATERIALIZED (
    SELECT set_config('idle_session_timeout', $5, false), set_config('tcp_user_timeout', $5, false),
           set_config('tenure.released', CASE WHEN are_all_free THEN $6 ELSE '' END, false)
    FROM (SELECT bool_and(is_released) AS are_all_free FROM released HAVING count(*) > 0) AS outcome
)
SELECT id, is_released FROM released, settings
