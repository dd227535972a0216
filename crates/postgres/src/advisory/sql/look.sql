-- Looks at locks without touching them.
WITH found AS MATERIALIZED (
    SELECT id, tag, false AS is_taken, NULL::bigint AS term FROM unnest($1::bigint[], $2::int[]) AS asked (id, tag)
)
