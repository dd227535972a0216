SELECT 1 FROM leader JOIN lease ON lease.election = leader.election
WHERE leader.process = ?1 AND lease.expires_at_ns > ?2
LIMIT 1
