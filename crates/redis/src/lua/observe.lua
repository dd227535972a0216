-- Looks at each election. Changes nothing.
-- ARGV: number, how long to wait for a lease without expiry
-- Answers: term, reserved_for, the stand-bys as {candidate, priority, since}, then of the lease, if there is one:
--          holder remaining ttl since metadata term, and 1 if it is foreign and has no expiry, else 0

-- So many are asked for at once: more would not fit into one command of a script.
local AT_ONCE = 1000

-- What is known of these nonces, some at a time.
local function details_of(k, nonces)
  local details = {}
  for first = 1, #nonces, AT_ONCE do
    local some = { unpack(nonces, first, math.min(first + AT_ONCE - 1, #nonces)) }
    for i, detail in ipairs(redis.call('HMGET', KEYS[k + 5], unpack(some))) do details[some[i]] = detail end
  end
  return details
end

-- Those who stand by and were heard of in time, the next one first.
local function standing_by(k)
  local details = details_of(k, redis.call('ZRANGEBYSCORE', KEYS[k + 4], '(' .. now, '+inf'))
  local line, standing = redis.call('ZRANGE', KEYS[k + 3], 0, -1, 'WITHSCORES'), {}
  for i = 1, #line, 2 do
    local detail, score = details[line[i]], tonumber(line[i + 1])
    if detail then
      local priority = KEENEST - math.floor(score / PRIORITY_STEP)
      standing[#standing + 1] = { string.match(detail, '^%S* (.*)$'), priority, score % PRIORITY_STEP }
    end
  end
  return standing
end

return each(7, 2, 0, function(k)
  local lease = KEYS[k + 1]
  local holder, known = redis.call('GET', lease), recall(KEYS[k + 2])
  local standing = standing_by(k)
  local reserved = not holder and is_reserved(known) and known.reserved
  local seen = { known.forgotten and 0 or known.term, reserved or false, standing }
  if holder then
    -- The term of a foreign leader is made when the first candidate meets it. Until then it is one that nobody had.
    if known.holder ~= holder then known = { term = math.max(known.term, known.above) + 1, since = now } end
    local left = remaining(lease, tonumber(ARGV[2]), known.ttl)
    -- One of ours gets its expiry again from the next candidate that sees it.
    local is_endless = not known.ttl and redis.call('PTTL', lease) == -1
    local lease_facts = { holder, left, tonumber(known.ttl or left), tonumber(known.since or now),
      known.metadata or false, known.term, is_endless and 1 or 0 }
    for i, fact in ipairs(lease_facts) do seen[3 + i] = fact end
  end
  return seen
end)
