-- Jobs count the ticks that were skipped, and runs how often they were tried again. `jobs` tells it, and `finish` is told. No
-- function can be replaced by one of another shape: these are only the shapes. The functions themselves come later, with all
-- others, and keep the rights that are given here.
DECLARE
    callers text;
BEGIN
    IF to_regclass({schema_literal} || '.job') IS NOT NULL THEN
        ALTER TABLE {schema}.job ADD COLUMN IF NOT EXISTS skipped bigint NOT NULL DEFAULT 0;
        ALTER TABLE {schema}.run ADD COLUMN IF NOT EXISTS retries bigint NOT NULL DEFAULT 0;
    END IF;
    SELECT string_agg(DISTINCT granted.grantee::regrole::text, ', ') INTO callers
    FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS granted
    WHERE p.oid = to_regprocedure({schema_literal} || '.jobs(uuid, bigint)') AND granted.grantee NOT IN (0, p.proowner);
    DROP FUNCTION IF EXISTS {schema}.jobs(uuid, bigint);
    DROP FUNCTION IF EXISTS {schema}.finish(uuid[], uuid[], bigint[], text[], bigint[], bigint[], text[], text[]);
    IF callers IS NOT NULL THEN
        CREATE FUNCTION {schema}.jobs(p_election uuid, p_runs_max bigint) RETURNS TABLE (
            job text, schedule text, mark bigint, fired bigint, missed bigint, skipped bigint, tick bigint, term bigint,
            candidate text, began_at_ms bigint, ended_at_ms bigint, took_ns bigint, outcome text, why text, retries bigint
        )
        LANGUAGE plpgsql AS 'BEGIN END';
        CREATE OR REPLACE FUNCTION {schema}.finish(
            p_elections uuid[], p_nonces uuid[], p_terms bigint[], p_jobs text[], p_ticks bigint[], p_took_ns bigint[],
            p_outcomes text[], p_reasons text[], p_retries bigint[]
        ) RETURNS integer[]
        LANGUAGE plpgsql AS 'BEGIN END';
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || {schema_literal} || '.jobs(uuid, bigint), ' || {schema_literal}
            || '.finish(uuid[], uuid[], bigint[], text[], bigint[], bigint[], text[], text[], bigint[]) TO ' || callers;
    END IF;
END;
