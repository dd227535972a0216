SELECT name, waiting, (SELECT count(*) FROM message WHERE message.mailbox = mailbox.id AND is_aside = 1)
FROM mailbox WHERE namespace = ?1 AND (?2 IS NULL OR name = ?2) AND EXISTS (SELECT 1 FROM message WHERE message.mailbox = mailbox.id)
ORDER BY name
