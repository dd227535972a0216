UPDATE job SET schedule = ?2, mark = ?3, fired = ?4, missed = ?5, skipped = ?6 WHERE id = ?1
