SELECT boot_id FROM machine
