-- Shows that this session is alive and still what it was, and how many wait for its end. An empty text leaves its settings as
-- they are. It has to work when there is no room for another lock, so it reads no table that all databases share.
WITH locks AS MATERIALIZED (
    SELECT database, classid, objid, pid, granted FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
)
SELECT pg_is_in_recovery() AS is_standby, is_ours,
       CASE WHEN is_ours AND $2 <> ''
            THEN set_config('idle_session_timeout', $2, false) || set_config('tcp_user_timeout', $2, false) END AS guard,
       (SELECT count(DISTINCT waiter.pid) FROM locks AS held JOIN locks AS waiter USING (database, classid, objid)
        WHERE held.pid = pg_backend_pid() AND held.granted AND NOT waiter.granted) AS waiters
FROM (SELECT coalesce(current_setting('tenure.session', true) = $1, false) AS is_ours) AS session
