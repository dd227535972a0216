INSERT INTO broadcast (namespace, name, said_at_ns, id, channel, sender, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
