UPDATE machine SET boot_id = boot_id
