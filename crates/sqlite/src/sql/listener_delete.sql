DELETE FROM listener WHERE namespace = ?1 AND name = ?2 AND process = ?3
