DELETE FROM leader WHERE election = ?1
