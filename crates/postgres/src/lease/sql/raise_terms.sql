-- Makes the next term of an election, or of all in the namespace if none is named, greater than one that another store has
-- given. Returns how many are higher now. Leases that run keep their terms.
CREATE OR REPLACE FUNCTION {schema}.raise_terms(p_namespace text, p_name text, p_id uuid, p_above bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    raised bigint;
BEGIN
    PERFORM {schema}.be_durable();
    IF p_above NOT BETWEEN 1 AND 9007199254740991 THEN
        RAISE EXCEPTION 'terms cannot be raised above %', p_above USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_name IS NOT NULL THEN
        INSERT INTO {schema}.election (id, namespace, name) VALUES (p_id, p_namespace, p_name) ON CONFLICT DO NOTHING;
    ELSE
        INSERT INTO {schema}.forgotten AS f (namespace, last_term) VALUES (p_namespace, p_above)
        ON CONFLICT (namespace) DO UPDATE SET last_term = greatest(f.last_term, excluded.last_term);
    END IF;
    UPDATE {schema}.election AS e SET terms_above = p_above
    WHERE e.namespace = p_namespace AND (p_name IS NULL OR e.id = p_id) AND greatest(e.last_term, e.terms_above) < p_above;
    GET DIAGNOSTICS raised = ROW_COUNT;
    RETURN raised;
END
$$;
