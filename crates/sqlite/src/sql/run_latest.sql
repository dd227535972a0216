SELECT tick, nonce, term, candidate, began_at_unix_ms, ended_at_unix_ms, took, outcome, why, retries FROM run
WHERE job = ?1 ORDER BY tick DESC LIMIT ?2
