SELECT place, channel, sender FROM message WHERE mailbox = ?1 AND is_aside = 0 ORDER BY place
