-- Releases each lease whose nonce and term are known, ends standing by, and reserves for whoever comes next.
-- ARGV: number, channel for all changes, whether the server sees all subscribers ('1' or '0'), then for each election:
--       nonce, term (empty: any), successor (empty: none), reason
-- Answers: 1 when a lease was released, else 0

local changes, sees_subscribers = ARGV[2], ARGV[3] == '1'

local function find_named(k, successor)
  for _, nonce in ipairs(redis.call('ZRANGE', KEYS[k + 3], 0, -1)) do
    local detail = redis.call('HGET', KEYS[k + 5], nonce)
    if detail and string.match(detail, '^%S* (.*)$') == successor then return nonce end
  end
end

-- Tells a stand-by to look. False if it is known to be gone.
local function tell(k, nonce, delay)
  local detail = redis.call('HGET', KEYS[k + 5], nonce) or ' '
  local wake, candidate = string.match(detail, '^(%S*) (.*)$')
  if wake ~= '' and write('PUBLISH', wake, delay .. ' ' .. KEYS[k + 1]) == 0 and sees_subscribers then
    leave_line(k, nonce)
    return false
  end
  return candidate
end

-- The successor looks at once, one more looks when the reservation is over, and nobody else is disturbed.
local function reserve(k, successor)
  drop_stale(k)
  local chosen, chosen_nonce, told, place = successor, nil, 0, 0
  local named = successor and find_named(k, successor)
  if named and tell(k, named, 0) then
    chosen_nonce, told = named, 1
  end
  while told < 2 do
    local nonce = redis.call('ZRANGE', KEYS[k + 3], place, place)[1]
    if not nonce then break end
    local candidate = nonce == chosen_nonce or tell(k, nonce, told == 0 and 0 or RESERVATION)
    if candidate then
      place = place + 1
      if nonce ~= chosen_nonce then told = told + 1 end
    end
    if candidate and not chosen then
      chosen, chosen_nonce = candidate, nonce
    end
  end
  if chosen then
    -- A named successor that does not stand by has no nonce, and nobody's nonce is empty.
    write('HSET', KEYS[k + 2], 'reserved', chosen, 'reserved_nonce', chosen_nonce or '', 'reserved_until',
      now + RESERVATION)
  end
end

return each(6, 3, 4, function(k, a)
  local nonce, term, successor, reason = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  -- Whoever was granted the lease stood in line no more.
  if known.nonce ~= nonce then leave_line(k, nonce) end
  if known.reserved_nonce == nonce then
    write('HDEL', KEYS[k + 2], 'reserved', 'reserved_nonce', 'reserved_until')
  end
  local owns = known.nonce == nonce and (term == '' or tonumber(term) == known.term)
  if not owns or (holder and holder ~= known.holder) then return { 0 } end
  write('DEL', KEYS[k + 1])
  write('HDEL', KEYS[k + 2], 'claim', 'holder', 'since', 'metadata', 'wake', 'handover')
  note(KEYS[k + 6], known.term, 'lost', reason, known.holder)
  reserve(k, successor ~= '' and successor or nil)
  write('PUBLISH', changes, '0 ' .. KEYS[k + 1])
  return { 1 }
end)
