SELECT count(*) FROM (
    SELECT 1 FROM stand_by WHERE election = ?1 AND priority > ?2 AND fresh_until_ns > ?5
    UNION ALL
    SELECT 1 FROM stand_by
    WHERE election = ?1 AND priority = ?2 AND (since_ns, nonce) < (?3, ?4) AND fresh_until_ns > ?5
    LIMIT ?6
)
