SELECT coalesce(max(waiting), 0) FROM mailbox WHERE namespace = ?1 AND name = ?2
