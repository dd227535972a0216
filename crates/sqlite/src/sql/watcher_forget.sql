DELETE FROM watcher WHERE process = ?1
