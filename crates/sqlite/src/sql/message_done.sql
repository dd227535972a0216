DELETE FROM message WHERE place = ?1
