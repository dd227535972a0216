-- Version 7. The line in its order, so that a step reads those it concerns, however many there are.
CREATE INDEX stand_by_line ON stand_by (election, priority DESC, since_ns, nonce);

PRAGMA user_version = 7;
