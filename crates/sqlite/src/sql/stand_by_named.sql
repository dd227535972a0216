SELECT nonce, candidate, priority, since_ns, since_unix_ms, fresh_until_ns, process
FROM stand_by WHERE election = ?1 AND candidate = ?2
