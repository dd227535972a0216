-- Terms that another store has given are not given again: whatever is granted next is above. It is not the last term: that is
-- the one of the lease.
        ALTER TABLE {schema}.election ADD COLUMN IF NOT EXISTS terms_above bigint NOT NULL DEFAULT 0;
