GRANT USAGE ON SCHEMA {schema} TO {role};
DO $tenure$
DECLARE
    callable regprocedure;
BEGIN
    FOR callable IN
        SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = {schema_literal}::regnamespace AND p.prosecdef
    LOOP
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || callable || ' TO ' || {role_literal};
    END LOOP;
END $tenure$;
