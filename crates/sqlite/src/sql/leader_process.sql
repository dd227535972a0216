SELECT leader.process FROM election
JOIN lease ON lease.election = election.id
JOIN leader ON leader.election = election.id
WHERE election.namespace = ?1 AND election.name = ?2 AND lease.expires_at_ns > ?3
