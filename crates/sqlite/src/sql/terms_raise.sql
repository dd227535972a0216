UPDATE election SET terms_above = ?2
WHERE namespace = ?1 AND (?3 IS NULL OR name = ?3) AND max(coalesce(last_term, 0), coalesce(terms_above, 0)) < ?2
