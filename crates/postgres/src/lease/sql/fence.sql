-- For a leader to call in its own transaction, with its term: fails the transaction unless this term is still the newest, and
-- keeps it the newest until the transaction ends. It does not keep the leader from renewing its lease, or others from looking.
CREATE OR REPLACE FUNCTION {schema}.fence(p_election text, p_term bigint, p_namespace text DEFAULT 'default') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint;
BEGIN
    SELECT last_term INTO newest FROM {schema}.election
    WHERE id = {schema}.election_id(p_namespace, p_election) FOR KEY SHARE;
    IF newest IS DISTINCT FROM p_term THEN
        RAISE EXCEPTION USING
            ERRCODE = 'TE001',
            MESSAGE = format(
                'term %s of the election %s is not the newest, which is %s', p_term, p_election, coalesce(newest::text, 'none')
            ),
            HINT = 'Somebody else leads, or has led: give up what was begun under this term.';
    END IF;
    -- Nobody can be elected while this transaction is open. One that is forgotten must not stay open for ever.
    IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
        PERFORM set_config('idle_in_transaction_session_timeout', '60s', true);
    END IF;
END
$$;
