INSERT INTO job (namespace, election, name, schedule, mark, fired, missed, skipped, paused_at_unix_ms, requested)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
