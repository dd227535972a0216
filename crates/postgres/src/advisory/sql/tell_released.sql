-- Tells of locks that were freed, if the statement before it has freed all of them, and nothing otherwise: those who hear it
-- do not wait for a leader that may not know yet.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload)
FROM unnest($2::text[]) AS told (payload)
WHERE current_setting('tenure.session', true) = $3 AND current_setting('tenure.released', true) = $4
