DELETE FROM broadcast
WHERE said_at_ns < ?1 OR number <= (SELECT max(seq) FROM sqlite_sequence WHERE name = 'broadcast') - ?2
