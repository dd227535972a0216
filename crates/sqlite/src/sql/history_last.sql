SELECT coalesce(max(number), 0) FROM history WHERE election = ?1
