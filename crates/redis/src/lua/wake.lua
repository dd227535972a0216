-- Writes down where the process of each holder can be woken: it was granted its lease before it could be.
-- KEYS: lease and election only. ARGV: number, channel, then for each election: nonce, term
-- Answers: 1 if it holds the lease, else 0

return each(2, 2, 2, function(k, a)
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holds(holder, known, ARGV[a + 1], ARGV[a + 2]) then return { 0 } end
  write('HSET', KEYS[k + 2], 'wake', ARGV[2])
  return { 1 }
end)
