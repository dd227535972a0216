BEGIN;
-- Nothing that others have left about is taken for what is meant, and no policy of theirs is run.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL row_security = off;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '30s';
SET LOCAL statement_timeout = '60s';
-- Whoever comes second waits, and finds everything done. The number is nobody else's: it is that of this schema's name.
SELECT pg_advisory_xact_lock(hashtextextended('tenure migrate ' || {schema_literal}, 0::bigint));

-- Whoever owns the schema, or something in it, can have code of theirs run by whoever migrates, or by whoever calls our
-- functions. Rules, policies and defaults are made by the owner of a table; triggers by whoever may.
DO $tenure$
DECLARE
    known regnamespace := to_regnamespace({schema_literal});
    me regrole := quote_ident(current_user)::regrole;
    foreigners text;
BEGIN
    IF known IS NULL THEN
        CREATE SCHEMA {schema};
        RETURN;
    END IF;
    -- All of a schema may be somebody else's: a few names show what it is about.
    SELECT string_agg(what, ', ' ORDER BY what) FILTER (WHERE place <= 3::bigint)
        || CASE WHEN count(*) > 3::bigint THEN ', and ' || (count(*) - 3::bigint)::text || ' more' ELSE '' END
    INTO foreigners FROM (SELECT what, row_number() OVER (ORDER BY what) AS place FROM (
        SELECT {schema_literal} || ' belongs to ' || n.nspowner::regrole AS what
        FROM pg_namespace AS n WHERE n.oid = known AND n.nspowner <> me
        UNION ALL
        SELECT c.oid::regclass || ' belongs to ' || c.relowner::regrole
        FROM pg_class AS c WHERE c.relnamespace = known AND c.relowner <> me AND c.relkind NOT IN ('i', 't')
        UNION ALL
        SELECT p.oid::regprocedure || ' belongs to ' || p.proowner::regrole
        FROM pg_proc AS p WHERE p.pronamespace = known AND p.proowner <> me
        UNION ALL
        SELECT o.oid::regoperator || ' belongs to ' || o.oprowner::regrole
        FROM pg_operator AS o WHERE o.oprnamespace = known AND o.oprowner <> me
        UNION ALL
        SELECT t.oid::regtype || ' belongs to ' || t.typowner::regrole
        FROM pg_type AS t WHERE t.typnamespace = known AND t.typowner <> me AND t.typrelid = 0 AND t.typelem = 0
        UNION ALL
        SELECT 'the trigger ' || quote_ident(t.tgname) || ' on ' || t.tgrelid::regclass || ' belongs to ' || p.proowner::regrole
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_proc AS p ON p.oid = t.tgfoid
        JOIN pg_roles AS r ON r.oid = p.proowner
        WHERE c.relnamespace = known AND NOT t.tgisinternal AND p.proowner <> me AND NOT r.rolsuper
    ) AS found) AS numbered;
    IF foreigners IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TE003', MESSAGE = foreigners;
    END IF;
END $tenure$;

CREATE TABLE IF NOT EXISTS {schema}.version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL
);
INSERT INTO {schema}.version VALUES (true, 0) ON CONFLICT DO NOTHING;
DO $tenure$ BEGIN
    IF (SELECT version FROM {schema}.version) > {version} THEN
        RAISE EXCEPTION USING ERRCODE = 'TE002', MESSAGE = 'this schema was made by a newer version of tenure';
    END IF;
END $tenure$;
SELECT set_config('tenure.is_new', (version = 0)::text, true), version AS version_before FROM {schema}.version;
