-- Releases each lease whose nonce and term are known, ends standing by, and reserves for whoever comes next.
-- ARGV: number, channel for all changes, whether the server sees all subscribers ('1' or '0'), then for each election:
--       nonce, term (empty: any), successor (empty: none), reason
-- Answers: 1 when a lease was released, else 0

local changes, sees_subscribers = ARGV[2], ARGV[3] == '1'

-- So many of those first in line are woken, one after the other.
local MAX_WOKEN = 16
-- So many are looked at, if at least one of them is alive: those who are gone are cleared away, and each of them was added in
-- a step of its own.
local MAX_LOOKED_AT = 64

-- When whoever has this number in line looks: the successor at once, the others when the reservation is over, one after the
-- other and all of them within another one.
local function delay_of(number)
  if number == 0 then return 0 end
  return RESERVATION + math.floor((number - 1) * RESERVATION / MAX_WOKEN)
end

-- Tells a stand-by to look, each process once. Its candidate, or false if it is known to be gone.
local function tell(k, nonce, detail, number, woken)
  local wake, candidate = string.match(detail or ' ', '^(%S*) (.*)$')
  if wake ~= '' and not woken[wake] then
    if write('PUBLISH', wake, delay_of(number) .. ' ' .. KEYS[k + 1]) == 0 and sees_subscribers then
      leave_line(k, nonce)
      return false
    end
    woken[wake] = true
  end
  return candidate
end

-- Tells the first in line of this name. Its nonce, if there is one; and whether one stood by, although it is gone.
local function tell_named(k, successor, woken)
  local number, was_there = string.format('%.0f', number_of(successor)), false
  for _ = 1, MAX_LOOKED_AT do
    local place = redis.call('ZRANGEBYSCORE', KEYS[k + 7], number, number, 'LIMIT', 0, 1)[1]
    if not place then break end
    local nonce = string.match(place, ' (.*)$')
    local detail = redis.call('HGET', KEYS[k + 5], nonce)
    if detail and is_fresh(k, nonce) then
      was_there = true
      if tell(k, nonce, detail, 0, woken) then return nonce, true end
    else
      leave_line(k, nonce)
      -- It may have left by the hand of an earlier version, which knows nothing of names.
      write('ZREM', KEYS[k + 7], place)
    end
  end
  return nil, was_there
end

-- Tells those first in line, from this number on. The nonce and the candidate of the first of them who is there.
local function tell_line(k, number, named, is_clean, woken)
  local place, looked_at, first, first_candidate = 0, 0, nil, nil
  -- The named successor is one of them, and has the first number.
  local last = named and MAX_WOKEN or number + MAX_WOKEN
  while number < last and (not first or looked_at < MAX_LOOKED_AT) do
    local nonces = redis.call('ZRANGE', KEYS[k + 3], place, place + MAX_WOKEN - 1)
    if #nonces == 0 then break end
    local details = redis.call('HMGET', KEYS[k + 5], unpack(nonces))
    for i, nonce in ipairs(nonces) do
      if number >= last then break end
      looked_at = looked_at + 1
      local candidate = nonce == named
      if nonce ~= named then
        if is_clean or is_fresh(k, nonce) then
          candidate = tell(k, nonce, details[i], number, woken)
        else
          leave_line(k, nonce)
        end
        if candidate then
          number = number + 1
          if not first then first, first_candidate = nonce, candidate end
        end
      end
      if candidate then place = place + 1 end
    end
  end
  return first, first_candidate
end

-- Keeps the lease for the named successor or else for the first in line, and wakes those first in line, in case the
-- successor does not answer.
local function reserve(k, successor)
  local is_clean, woken = drop_stale(k), {}
  local named, was_there
  if successor then named, was_there = tell_named(k, successor, woken) end
  -- Whoever waits for a successor that does not stand by yet is not the successor.
  local is_absent = successor and not was_there
  local first, candidate = tell_line(k, (named or is_absent) and 1 or 0, named, is_clean, woken)
  if named or is_absent then first, candidate = named, successor end
  if candidate then
    -- A named successor that does not stand by has no nonce, and nobody's nonce is empty.
    write('HSET', KEYS[k + 2], 'reserved', candidate, 'reserved_nonce', first or '', 'reserved_until', now + RESERVATION)
  end
end

return each(7, 3, 4, function(k, a)
  local nonce, term, successor, reason = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  -- Whoever was granted the lease stood in line no more.
  if known.nonce ~= nonce then leave_line(k, nonce) end
  local passes_on = known.reserved_nonce == nonce
  if passes_on then
    write('HDEL', KEYS[k + 2], 'reserved', 'reserved_nonce', 'reserved_until')
  end
  local owns = known.nonce == nonce and (term == '' or tonumber(term) == known.term)
  if not owns or (holder and holder ~= known.holder) then
    if passes_on and not holder and is_reserved(known) then reserve(k) end
    return { 0 }
  end
  write('DEL', KEYS[k + 1])
  write('HDEL', KEYS[k + 2], 'claim', 'holder', 'since', 'metadata', 'wake', 'handover')
  note(KEYS[k + 6], known.term, 'lost', reason, known.holder)
  reserve(k, successor ~= '' and successor or nil)
  write('PUBLISH', changes, '0 ' .. KEYS[k + 1])
  return { 1 }
end)
