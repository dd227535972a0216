INSERT INTO election (namespace, name, terms_above)
VALUES (?1, ?2, (SELECT last_term FROM forgotten WHERE namespace = ?1))
ON CONFLICT (namespace, name) DO NOTHING
