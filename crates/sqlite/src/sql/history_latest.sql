SELECT at_unix_ms, term, candidate, change, reason
FROM history
WHERE election = (SELECT id FROM election WHERE namespace = ?1 AND name = ?2)
ORDER BY number DESC LIMIT ?3
