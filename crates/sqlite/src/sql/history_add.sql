INSERT INTO history (election, number, at_unix_ms, term, candidate, change, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
