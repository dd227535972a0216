SELECT number, namespace, name, id, channel, sender, payload FROM broadcast WHERE number > ?1 ORDER BY number
