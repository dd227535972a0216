-- Waits until a lock is free, for as long as lock_timeout says, unless enough others wait for it already. It is free again at
-- once: this is to be woken, not to have it. Then all who stand by are told by the server itself, because whoever waits here
-- may stand still, and never read the answer. That takes longer, so the lock is not kept until the end of the statement.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($3, $4)
FROM (
    SELECT pg_advisory_unlock_shared($1::bigint) AS is_free
    FROM (
        SELECT pg_advisory_lock_shared($1::bigint)
        WHERE (
            SELECT count(*) FROM pg_locks
            WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted
              AND classid::bigint << 32 | objid::bigint = $1::bigint
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        ) < $2::bigint
        OFFSET 0
    ) AS waited
    OFFSET 0
) AS freed
WHERE is_free
