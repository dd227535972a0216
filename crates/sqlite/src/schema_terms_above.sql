-- Version 8. Terms that another store has given are not given again: whatever is granted next is above.
ALTER TABLE election ADD COLUMN terms_above INTEGER;

PRAGMA user_version = 8;
