INSERT OR REPLACE INTO leader (election, candidate, metadata, since_unix_ms, process, handover_to)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
