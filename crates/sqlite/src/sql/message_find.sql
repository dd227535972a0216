SELECT place, is_aside, attempts FROM message WHERE mailbox = ?1 AND id = ?2
