-- Those who have lost their place, and those of one name, are found without looking through everybody.
        CREATE INDEX IF NOT EXISTS stand_by_stale ON {schema}.stand_by (fresh_until);
        CREATE INDEX IF NOT EXISTS stand_by_named ON {schema}.stand_by (election, candidate, priority DESC, since, nonce);
        DROP FUNCTION IF EXISTS {schema}.next_in_line(uuid, text, timestamptz);
