INSERT INTO machine (id, boot_id) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET boot_id = excluded.boot_id
