-- Jobs count the ticks that were skipped, and `jobs` tells it. No function can be replaced by one that tells more: this is only
-- its shape. The function itself comes later, with all others, and keeps the rights that are given here.
DECLARE
    callers text;
BEGIN
    IF to_regclass({schema_literal} || '.job') IS NOT NULL THEN
        ALTER TABLE {schema}.job ADD COLUMN IF NOT EXISTS skipped bigint NOT NULL DEFAULT 0;
    END IF;
    SELECT string_agg(DISTINCT granted.grantee::regrole::text, ', ') INTO callers
    FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS granted
    WHERE p.oid = to_regprocedure({schema_literal} || '.jobs(uuid, bigint)') AND granted.grantee NOT IN (0, p.proowner);
    DROP FUNCTION IF EXISTS {schema}.jobs(uuid, bigint);
    IF callers IS NOT NULL THEN
        CREATE FUNCTION {schema}.jobs(p_election uuid, p_runs_max bigint) RETURNS TABLE (
            job text, schedule text, mark bigint, fired bigint, missed bigint, skipped bigint, tick bigint, term bigint,
            candidate text, began_at_ms bigint, ended_at_ms bigint, took_ns bigint, outcome text, why text
        )
        LANGUAGE plpgsql AS 'BEGIN END';
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || {schema_literal} || '.jobs(uuid, bigint) TO ' || callers;
    END IF;
END;
