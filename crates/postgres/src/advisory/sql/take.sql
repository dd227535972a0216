-- Tries locks, and gives those that were got a term. All are tried before the term is drawn, so it is above that of every
-- earlier holder of each of them. Whoever gets none draws no term.
WITH tried AS MATERIALIZED (
    SELECT id, tag, pg_try_advisory_lock(id) AS is_taken
    FROM unnest($1::bigint[], $2::int[]) AS asked (id, tag)
    -- On a process of the server that is not ours, nothing is taken.
    WHERE current_setting('tenure.session', true) = $3
), outcome AS MATERIALIZED (
    SELECT coalesce(bool_or(is_taken), false) AS is_any_taken, count(*) > 0 AS is_ours FROM tried
), granted AS MATERIALIZED (
    -- The number of a transaction that writes nothing could be used again after a crash; this writes a few bytes.
    SELECT pg_current_xact_id()::text::bigint AS term, pg_logical_emit_message(true, 'tenure', '')
    WHERE (SELECT is_any_taken FROM outcome)
), settings AS MATERIALIZED (
    SELECT set_config('idle_session_timeout', guard, false), set_config('tcp_user_timeout', guard, false),
           set_config('application_name', $4, false)
    FROM (SELECT CASE WHEN is_any_taken THEN $5 ELSE $6 END AS guard FROM outcome WHERE is_ours) AS chosen
), marked AS MATERIALIZED (
    SELECT id, tag, is_taken, CASE WHEN is_taken THEN (SELECT term FROM granted) END AS term
    FROM tried, settings
), found AS MATERIALIZED (
    SELECT id, tag, is_taken, term,
           CASE WHEN is_taken THEN pg_try_advisory_lock_shared(tag, term::bit(32)::int) END AS is_marked
    FROM marked
)
