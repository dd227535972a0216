UPDATE election SET last_term = ?2, reserved_for = ?3, reserved_nonce = ?4, reserved_until_ns = ?5 WHERE id = ?1
