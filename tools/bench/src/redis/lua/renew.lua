-- Keeps each lease that this holder has, and says how many. KEYS: leases. ARGV: holder, ttl in milliseconds
local kept = 0
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then kept = kept + redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
end
return kept
