SELECT
    election.id, election.last_term, election.reserved_for, election.reserved_nonce, election.reserved_until_ns,
    lease.term, lease.nonce, lease.ttl_ns, lease.expires_at_ns, lease.handover,
    leader.candidate, leader.metadata, leader.since_unix_ms, leader.process, leader.handover_to, election.terms_above
FROM election
LEFT JOIN lease ON lease.election = election.id
LEFT JOIN leader ON leader.election = election.id
WHERE election.namespace = ?1 AND election.name = ?2
