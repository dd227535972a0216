DELETE FROM message WHERE mailbox = ?1 AND id = ?2 AND is_aside = 0
