SELECT id, name, schedule, mark, fired, missed, skipped FROM job WHERE namespace = ?1 AND election = ?2
