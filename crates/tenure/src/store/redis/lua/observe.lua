-- Looks at each election. Changes nothing.
-- ARGV: number, how long to wait for a lease without expiry
-- Answers: term, reserved_for, the stand-bys as {candidate, priority, since}, then of the lease, if there is one:
--          holder remaining ttl since metadata term, and 1 if it is foreign and has no expiry, else 0

return each(6, 2, 0, function(k)
  local lease = KEYS[k + 1]
  local holder, known = redis.call('GET', lease), recall(KEYS[k + 2])
  local line = redis.call('ZRANGE', KEYS[k + 3], 0, -1, 'WITHSCORES')
  local standing = {}
  for i = 1, #line, 2 do
    local fresh_until = redis.call('ZSCORE', KEYS[k + 4], line[i])
    local detail = redis.call('HGET', KEYS[k + 5], line[i])
    if fresh_until and detail and now < tonumber(fresh_until) then
      local priority = KEENEST - math.floor(tonumber(line[i + 1]) / PRIORITY_STEP)
      local since = tonumber(line[i + 1]) % PRIORITY_STEP
      standing[#standing + 1] = { string.match(detail, '^%S* (.*)$'), priority, since }
    end
  end
  local reserved = not holder and is_reserved(known) and known.reserved
  local seen = { known.term, reserved or false, standing }
  if holder then
    -- The term of a foreign leader is made when the first candidate meets it. Until then it is one that nobody had.
    if known.holder ~= holder then known = { term = known.term + 1, since = now } end
    local left = remaining(lease, tonumber(ARGV[2]), known.ttl)
    -- One of ours gets its expiry again from the next candidate that sees it.
    local is_endless = not known.ttl and redis.call('PTTL', lease) == -1
    local lease_facts = { holder, left, tonumber(known.ttl or left), tonumber(known.since or now),
      known.metadata or false, known.term, is_endless and 1 or 0 }
    for i, fact in ipairs(lease_facts) do seen[3 + i] = fact end
  end
  return seen
end)
