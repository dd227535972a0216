SELECT name FROM election WHERE namespace = ?1 ORDER BY name
