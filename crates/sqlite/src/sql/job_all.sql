SELECT id, name, schedule, mark, fired, missed, skipped, paused_at_unix_ms, requested FROM job WHERE namespace = ?1 AND election = ?2
