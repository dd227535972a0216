DELETE FROM message
WHERE mailbox = ?1 AND is_aside = 1 AND place <=
    (SELECT place FROM message WHERE mailbox = ?1 AND is_aside = 1 ORDER BY place DESC LIMIT 1 OFFSET ?2)
RETURNING id
