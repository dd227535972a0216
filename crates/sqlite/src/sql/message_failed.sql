UPDATE message SET attempts = ?2, last_error = ?3 WHERE place = ?1
