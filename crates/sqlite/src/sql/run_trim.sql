DELETE FROM run
WHERE job = ?1 AND tick <= (SELECT tick FROM run WHERE job = ?1 ORDER BY tick DESC LIMIT 1 OFFSET ?2)
