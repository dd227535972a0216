SELECT id, channel, sender, payload, sent_at_unix_ms, attempts, last_error
FROM message WHERE mailbox = ?1 AND is_aside = ?2
ORDER BY place LIMIT ?3
