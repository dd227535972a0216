-- Anything out of the ordinary, a request to hand over included, matches no row and is decided by the full rules.
UPDATE lease SET expires_at_ns = ?5, ttl_ns = ?6
WHERE election = ?1 AND nonce = ?2 AND term = ?3 AND expires_at_ns > ?4 AND handover = 0
