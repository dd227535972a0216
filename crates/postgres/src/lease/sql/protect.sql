-- Most functions run with the rights of their owner, so not everybody may call them. The others help them, look at whatever
-- the path of their caller leads to, and may be called by nobody else. What everything new is granted by default is taken
-- away again where the schema is new; what was granted later stays.
REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC;
DO $tenure$
DECLARE
    is_new boolean := current_setting('tenure.is_new')::boolean;
    surplus record;
BEGIN
    FOR surplus IN
        SELECT DISTINCT 'FUNCTION ' || p.oid::regprocedure AS what, granted.grantee::regrole::text AS role
        FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS granted
        WHERE p.pronamespace = {schema_literal}::regnamespace AND granted.grantee NOT IN (0, p.proowner)
            AND (is_new OR NOT p.prosecdef)
        UNION
        SELECT 'TABLE ' || c.oid::regclass, CASE granted.grantee WHEN 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS granted
        WHERE c.relnamespace = {schema_literal}::regnamespace AND c.relkind = 'r' AND is_new
            AND granted.grantee <> c.relowner
        UNION
        SELECT 'SCHEMA ' || n.oid::regnamespace, granted.grantee::regrole::text
        FROM pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS granted
        WHERE n.oid = {schema_literal}::regnamespace AND is_new AND granted.grantee NOT IN (0, n.nspowner)
    LOOP
        EXECUTE 'REVOKE ALL ON ' || surplus.what || ' FROM ' || surplus.role;
    END LOOP;
END $tenure$;
