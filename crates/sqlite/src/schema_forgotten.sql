-- Version 6. Elections that are forgotten leave behind how high their terms were: whatever begins in the same namespace
-- begins above.
CREATE TABLE forgotten (
    namespace TEXT PRIMARY KEY,
    last_term INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 6;
