INSERT INTO mailbox (namespace, name, waiting) VALUES (?1, ?2, 0)
