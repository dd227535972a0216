, held AS MATERIALIZED (
    -- A lock of one number shows as its upper and its lower half.
    SELECT classid::bigint << 32 | objid::bigint AS id, classid::bigint AS upper, objid::bigint AS lower, objsubid, pid,
           mode, granted
    FROM pg_locks
    WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      -- They are all looked through, so not without need.
      AND (SELECT bool_or(NOT is_taken) FROM found)
)
SELECT found.id, found.is_taken, found.term, holder.pid, activity.application_name AS label, mark.lower AS mark,
       (SELECT count(*) FROM held AS waiter WHERE waiter.id = found.id AND waiter.objsubid = 1 AND NOT waiter.granted)
           AS waiters,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_transaction
FROM found
LEFT JOIN held AS holder
    ON holder.id = found.id AND holder.objsubid = 1 AND holder.granted AND holder.mode = 'ExclusiveLock'
   AND NOT found.is_taken
LEFT JOIN held AS mark
    ON mark.pid = holder.pid AND mark.objsubid = 2 AND mark.granted AND mark.mode = 'ShareLock'
   AND mark.upper = found.tag::bigint & 4294967295
LEFT JOIN pg_stat_activity AS activity ON activity.pid = holder.pid
