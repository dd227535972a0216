INSERT OR IGNORE INTO watcher (process) VALUES (?1)
