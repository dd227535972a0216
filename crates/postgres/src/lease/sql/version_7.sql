-- Mailboxes know whose they are, so that messages to an election that nobody ever led can be found. Of those that got messages
-- before, only elections tell the names; the others get theirs with the next message. No function can be replaced by one of
-- another shape: these are only the shapes. The functions themselves come later, with all others, and keep the rights that are
-- given here.
DECLARE
    callers text;
    sending text := {schema_literal} || '.send(uuid[], uuid[], text[], text[], text[], bigint)';
BEGIN
    ALTER TABLE {schema}.mailbox ADD COLUMN IF NOT EXISTS namespace text COLLATE "C";
    ALTER TABLE {schema}.mailbox ADD COLUMN IF NOT EXISTS name text COLLATE "C";
    UPDATE {schema}.mailbox AS b SET namespace = e.namespace, name = e.name
    FROM {schema}.election AS e WHERE e.id = b.election AND b.name IS NULL;
    SELECT string_agg(DISTINCT granted.grantee::regrole::text, ', ') INTO callers
    FROM pg_proc AS p CROSS JOIN LATERAL aclexplode(p.proacl) AS granted
    WHERE p.oid = to_regprocedure(sending) AND granted.grantee NOT IN (0, p.proowner);
    EXECUTE 'DROP FUNCTION IF EXISTS ' || sending;
    IF callers IS NOT NULL THEN
        CREATE OR REPLACE FUNCTION {schema}.send(
            p_elections uuid[], p_ids uuid[], p_channels text[], p_senders text[], p_payloads text[], p_waiting_max bigint,
            p_namespaces text[], p_names text[]
        ) RETURNS integer[]
        LANGUAGE plpgsql AS 'BEGIN END';
        CREATE OR REPLACE FUNCTION {schema}.count_messages(p_namespace text, p_only uuid)
        RETURNS TABLE (name text, waiting bigint, aside bigint)
        LANGUAGE plpgsql AS 'BEGIN END';
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || {schema_literal}
            || '.send(uuid[], uuid[], text[], text[], text[], bigint, text[], text[]), '
            || {schema_literal} || '.count_messages(text, uuid) TO ' || callers;
    END IF;
END;
