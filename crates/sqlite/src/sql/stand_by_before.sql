SELECT nonce, candidate, priority, since_ns, since_unix_ms, fresh_until_ns, process
FROM stand_by WHERE election = ?1 AND priority = ?2 AND (since_ns, nonce) < (?3, ?4)
ORDER BY since_ns DESC, nonce DESC
