-- Jobs count the ticks that were skipped, can be paused and asked for, and runs count how often they were tried again. Functions
-- tell of it. No function can be replaced by one of another shape: these are only the shapes. The functions themselves come later,
-- with all others, and keep the rights that are given here.
DECLARE
    callers text;
    opening text := {schema_literal} || '.open_jobs(uuid, uuid, bigint, text[], text[], bigint[], bigint)';
BEGIN
    IF to_regclass({schema_literal} || '.job') IS NOT NULL THEN
        ALTER TABLE {schema}.job ADD COLUMN IF NOT EXISTS skipped bigint NOT NULL DEFAULT 0;
        ALTER TABLE {schema}.job ADD COLUMN IF NOT EXISTS paused_at timestamptz;
        ALTER TABLE {schema}.job ADD COLUMN IF NOT EXISTS requested bigint;
        ALTER TABLE {schema}.run ADD COLUMN IF NOT EXISTS retries bigint NOT NULL DEFAULT 0;
    END IF;
    SELECT string_agg(DISTINCT granted.grantee::regrole::text, ', ') INTO callers
    FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS granted
    WHERE p.oid = to_regprocedure({schema_literal} || '.jobs(uuid, bigint)') AND granted.grantee NOT IN (0, p.proowner);
    DROP FUNCTION IF EXISTS {schema}.jobs(uuid, bigint);
    DROP FUNCTION IF EXISTS {schema}.finish(uuid[], uuid[], bigint[], text[], bigint[], bigint[], text[], text[]);
    EXECUTE 'DROP FUNCTION IF EXISTS ' || opening;
    IF callers IS NOT NULL THEN
        CREATE FUNCTION {schema}.jobs(p_election uuid, p_runs_max bigint) RETURNS TABLE (
            job text, schedule text, mark bigint, fired bigint, missed bigint, skipped bigint, tick bigint, term bigint,
            candidate text, began_at_ms bigint, ended_at_ms bigint, took_ns bigint, outcome text, why text, retries bigint,
            paused_at_ms bigint, requested bigint
        )
        LANGUAGE plpgsql AS 'BEGIN END';
        CREATE FUNCTION {schema}.open_jobs(
            p_election uuid, p_nonce uuid, p_term bigint, p_jobs text[], p_schedules text[], p_from bigint[],
            p_jobs_max bigint
        ) RETURNS TABLE (place integer, verdict text, mark bigint, interrupted bigint[], unbegun bigint[], is_paused boolean,
            requested bigint)
        LANGUAGE plpgsql AS 'BEGIN END';
        CREATE OR REPLACE FUNCTION {schema}.finish(
            p_elections uuid[], p_nonces uuid[], p_terms bigint[], p_jobs text[], p_ticks bigint[], p_took_ns bigint[],
            p_outcomes text[], p_reasons text[], p_retries bigint[]
        ) RETURNS integer[]
        LANGUAGE plpgsql AS 'BEGIN END';
        CREATE OR REPLACE FUNCTION {schema}.steer_job(p_election uuid, p_job text, p_order text) RETURNS boolean
        LANGUAGE plpgsql AS 'BEGIN END';
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || opening || ', ' || {schema_literal} || '.jobs(uuid, bigint), '
            || {schema_literal} || '.finish(uuid[], uuid[], bigint[], text[], bigint[], bigint[], text[], text[], bigint[]), '
            || {schema_literal} || '.steer_job(uuid, text, text) TO ' || callers;
    END IF;
END;
