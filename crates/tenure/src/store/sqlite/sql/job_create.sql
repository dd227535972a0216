INSERT INTO job (namespace, election, name, schedule, mark, fired, missed, skipped)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
