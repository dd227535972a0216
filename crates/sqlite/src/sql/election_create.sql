INSERT INTO election (namespace, name) VALUES (?1, ?2)
