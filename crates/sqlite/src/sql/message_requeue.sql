UPDATE message
SET is_aside = 0, place = (SELECT max(place) + 1 FROM message), attempts = 0, last_error = NULL
WHERE place = ?1
