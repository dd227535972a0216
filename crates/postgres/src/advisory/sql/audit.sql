-- All that this session has locked, or that anybody has locked for itself.
SELECT classid::bigint << 32 | objid::bigint AS id, classid::bigint::bit(32)::int AS upper, objid::bigint::bit(32)::int AS lower,
       objsubid = 2 AS is_mark, pid
FROM pg_locks
WHERE locktype = 'advisory' AND granted AND (pid = pg_backend_pid() OR $2)
  AND mode = CASE WHEN objsubid = 2 THEN 'ShareLock' ELSE 'ExclusiveLock' END
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND current_setting('tenure.session', true) = $1
