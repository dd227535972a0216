-- `open_jobs` tells which ticks were given back as well, and no function can be replaced by one that tells more. This is only
-- its shape: the function itself comes later, with all others, and keeps the rights that are given here.
DECLARE
    signature text := {schema_literal} || '.open_jobs(uuid, uuid, bigint, text[], text[], bigint[], bigint)';
    callers text;
BEGIN
    SELECT string_agg(DISTINCT granted.grantee::regrole::text, ', ') INTO callers
    FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS granted
    WHERE p.oid = to_regprocedure(signature) AND granted.grantee NOT IN (0, p.proowner);
    EXECUTE 'DROP FUNCTION IF EXISTS ' || signature;
    IF callers IS NOT NULL THEN
        CREATE FUNCTION {schema}.open_jobs(
            p_election uuid, p_nonce uuid, p_term bigint, p_jobs text[], p_schedules text[], p_from bigint[],
            p_jobs_max bigint
        ) RETURNS TABLE (place integer, verdict text, mark bigint, interrupted bigint[], unbegun bigint[])
        LANGUAGE plpgsql AS 'BEGIN END';
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || signature || ' TO ' || callers;
    END IF;
END;
