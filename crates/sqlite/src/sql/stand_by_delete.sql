DELETE FROM stand_by WHERE election = ?1 AND nonce = ?2
