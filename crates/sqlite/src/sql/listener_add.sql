INSERT OR IGNORE INTO listener (namespace, name, process) VALUES (?1, ?2, ?3)
