DELETE FROM stand_by WHERE process = ?1
