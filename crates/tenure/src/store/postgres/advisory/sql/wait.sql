-- Waits until a lock is free, for as long as lock_timeout says, unless somebody else waits for it already. It is free again
-- at the end of the statement: this is to be woken, not to have it.
SELECT true FROM (
    SELECT pg_advisory_xact_lock_shared($1::bigint)
    WHERE NOT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted
          AND classid::bigint << 32 | objid::bigint = $1::bigint
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
    OFFSET 0
) AS waited
