UPDATE mailbox SET waiting = ?2 WHERE id = ?1
