SELECT id, waiting FROM mailbox WHERE namespace = ?1 AND name = ?2
