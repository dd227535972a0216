-- Gives a lease back and wakes whoever waits for it. KEYS: lease. ARGV: holder, channel
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], KEYS[1])
return 1
