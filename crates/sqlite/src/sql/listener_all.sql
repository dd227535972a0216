SELECT process FROM listener WHERE namespace = ?1 AND name = ?2
