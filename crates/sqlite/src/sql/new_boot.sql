-- Everything that was counted on the clock of an earlier boot is over.
UPDATE lease SET expires_at_ns = 0;
UPDATE election SET reserved_for = NULL, reserved_nonce = NULL, reserved_until_ns = NULL;
DELETE FROM stand_by;
DELETE FROM watcher;
DELETE FROM broadcast;
DELETE FROM listener;
