-- Version 5. Ticks that were passed over beside a run or because their job was not enabled, how often runs were tried again, and
-- what somebody wants of a job.
ALTER TABLE job ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN paused_at_unix_ms INTEGER;
-- The second at which a run was asked for that has not begun.
ALTER TABLE job ADD COLUMN requested INTEGER;
ALTER TABLE run ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 5;
