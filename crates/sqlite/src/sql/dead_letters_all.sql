SELECT place, id FROM message WHERE mailbox = ?1 AND is_aside = 1 ORDER BY place
