-- Frees what this session should not have: locks, and marks.
SELECT pg_advisory_unlock(id) FROM unnest($1::bigint[]) AS surplus (id)
WHERE current_setting('tenure.session', true) = $4
UNION ALL
SELECT pg_advisory_unlock_shared(upper, lower) FROM unnest($2::int[], $3::int[]) AS surplus (upper, lower)
WHERE current_setting('tenure.session', true) = $4
