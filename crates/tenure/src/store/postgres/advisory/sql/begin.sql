-- Makes a session ours, unless it is somebody's already, and sets what must hold behind a pooler, too.
WITH before AS MATERIALIZED (
    SELECT coalesce(current_setting('tenure.session', true), '') = '' AS is_free
)
SELECT is_free, current_user::text AS role,
       CASE WHEN is_free THEN
           set_config('tenure.session', $1, false) || set_config('lock_timeout', '2s', false)
           || set_config('statement_timeout', '10s', false) || set_config('idle_session_timeout', '0', false)
           || set_config('client_connection_check_interval', '1s', false)
           || CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN ''
                   ELSE set_config('synchronous_commit', 'on', false) END
       END AS settings
FROM before
