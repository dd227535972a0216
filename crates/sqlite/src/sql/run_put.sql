INSERT OR REPLACE INTO run
    (job, tick, nonce, term, candidate, began_at_unix_ms, ended_at_unix_ms, took, outcome, why, retries)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
