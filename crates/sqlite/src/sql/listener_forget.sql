DELETE FROM listener WHERE process = ?1
