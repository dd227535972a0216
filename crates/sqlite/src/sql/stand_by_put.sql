INSERT OR REPLACE INTO stand_by
    (election, nonce, candidate, priority, since_ns, since_unix_ms, fresh_until_ns, process)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
