SELECT last_term FROM forgotten WHERE namespace = ?1
