-- Keeps each lease whose nonce and term are known.
-- KEYS: lease and election only. ARGV: number, then for each election: nonce, term, ttl
-- Answers: 1 (a number, no list: nearly all are answered so, and a list costs a sixth of the step) |
--          1 request_to_hand_over | 0 term

return each(2, 1, 3, function(k, a)
  local holder = redis.call('GET', KEYS[k + 1])
  local known = redis.call('HMGET', KEYS[k + 2], 'nonce', 'term', 'holder', 'ttl', 'handover')
  if not holder or known[1] ~= ARGV[a + 1] or known[2] ~= ARGV[a + 2] or known[3] ~= holder then
    return { 0, tonumber(known[2] or 0) }
  end
  -- Allowed although the server may be out of memory, and first, because it is what matters.
  write('PEXPIRE', KEYS[k + 1], ARGV[a + 3])
  if known[4] ~= ARGV[a + 3] then write('HSET', KEYS[k + 2], 'ttl', ARGV[a + 3]) end
  return known[5] and { 1, known[5] } or 1
end)
