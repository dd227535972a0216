-- Takes a free lease under a new term. KEYS: lease, term. ARGV: holder, ttl in milliseconds
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end
return 0
