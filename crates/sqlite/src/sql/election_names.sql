SELECT name FROM election WHERE namespace = ?1 AND last_term IS NOT NULL ORDER BY name
