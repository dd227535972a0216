-- Shows that this session is alive and still what it was. An empty text leaves its settings as they are.
SELECT pg_is_in_recovery() AS is_standby, is_ours,
       CASE WHEN is_ours AND $2 <> ''
            THEN set_config('idle_session_timeout', $2, false) || set_config('tcp_user_timeout', $2, false) END AS guard
FROM (SELECT coalesce(current_setting('tenure.session', true) = $1, false) AS is_ours) AS session
