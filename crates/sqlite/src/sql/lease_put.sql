INSERT OR REPLACE INTO lease (election, term, nonce, ttl_ns, expires_at_ns, handover) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
