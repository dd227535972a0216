INSERT INTO forgotten (namespace, last_term) VALUES (?1, ?2)
ON CONFLICT (namespace) DO UPDATE SET last_term = max(last_term, excluded.last_term)
