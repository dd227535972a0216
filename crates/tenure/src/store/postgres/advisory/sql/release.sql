-- Frees locks, and then takes off what they were marked with.
SELECT id, pg_advisory_unlock(id) AS is_released, pg_advisory_unlock_shared(tag, term::bit(32)::int) AS is_unmarked,
       (SELECT set_config('idle_session_timeout', $5, false)) AS idle, (SELECT set_config('tcp_user_timeout', $5, false)) AS tcp
FROM unnest($1::bigint[], $2::int[], $3::bigint[]) AS led (id, tag, term)
WHERE current_setting('tenure.session', true) = $4
