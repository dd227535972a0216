DELETE FROM lease WHERE election = ?1
