SELECT id, channel, sender, payload, sent_at_unix_ms, attempts, last_error FROM message WHERE place = ?1
