-- Version 5. Ticks that were passed over beside a run or because their job was not enabled, and how often runs were tried again.
ALTER TABLE job ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 5;
