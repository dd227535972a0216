UPDATE message
SET is_aside = 1, place = (SELECT max(place) + 1 FROM message), attempts = max(attempts, ?3), last_error = ?4
WHERE mailbox = ?1 AND id = ?2 AND is_aside = 0
