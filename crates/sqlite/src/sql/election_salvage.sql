SELECT
    election.id,
    EXISTS (SELECT 1 FROM lease WHERE lease.election = election.id AND lease.expires_at_ns > ?3) AS is_led,
    EXISTS (SELECT 1 FROM stand_by WHERE stand_by.election = election.id AND stand_by.fresh_until_ns > ?3) AS is_stood_by,
    (
        SELECT max(term) FROM (
            SELECT last_term AS term
            UNION ALL SELECT election.terms_above
            UNION ALL SELECT lease.term FROM lease WHERE lease.election = election.id
            UNION ALL SELECT history.term FROM history WHERE history.election = election.id
        ) WHERE term BETWEEN 1 AND 9007199254740992
    ) AS highest_term
FROM election
WHERE election.namespace = ?1 AND election.name = ?2
