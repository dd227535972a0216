-- Makes a session ours, unless it is somebody's already, and sets what must hold behind a pooler, too. From then on names
-- mean what the server means by them.
WITH before AS MATERIALIZED (
    SELECT coalesce(pg_catalog.current_setting('tenure.session', true), '') = '' AS is_free
)
SELECT is_free, current_user::text AS role,
       CASE WHEN is_free THEN
           pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)
           || pg_catalog.set_config('tenure.session', $1, false) || pg_catalog.set_config('lock_timeout', '2s', false)
           || pg_catalog.set_config('statement_timeout', '10s', false) || pg_catalog.set_config('idle_session_timeout', '0', false)
           || pg_catalog.set_config('client_connection_check_interval', '1s', false)
           || CASE WHEN pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN ''
                   ELSE pg_catalog.set_config('synchronous_commit', 'on', false) END
       END AS settings
FROM before
