-- Leaves a request for the leader of each election to hand over, and wakes it.
-- ARGV: number, then for each election: '' for anybody, or '>' and the id of the successor
-- Answers: 0 nobody leads | 1 asked | 2 a foreign participant leads, which cannot be asked

return each(7, 1, 1, function(k, a)
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holder then return { 0 } end
  if known.holder ~= holder or not known.nonce then return { 2 } end
  write('HSET', KEYS[k + 2], 'handover', ARGV[a + 1])
  if known.wake and known.wake ~= '' then write('PUBLISH', known.wake, '0 ' .. KEYS[k + 1]) end
  return { 1 }
end)
