SELECT 1 FROM message WHERE mailbox = ?1 AND id = ?2
