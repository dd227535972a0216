INSERT INTO message (mailbox, id, is_aside, channel, sender, sent_at_unix_ms, attempts, payload)
VALUES (?1, ?2, 0, ?3, ?4, ?5, 0, ?6)
