DELETE FROM history WHERE election = ?1 AND number <= ?2
