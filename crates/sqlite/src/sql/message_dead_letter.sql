UPDATE message
SET is_aside = 1, place = (SELECT max(place) + 1 FROM message), attempts = ?2, last_error = ?3
WHERE place = ?1
