UPDATE job SET schedule = ?2, mark = ?3, fired = ?4, missed = ?5, skipped = ?6, paused_at_unix_ms = ?7, requested = ?8
WHERE id = ?1
