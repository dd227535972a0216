-- Takes each lease if it is free; else stands by.
-- ARGV: number, channel for all changes, channel that wakes this process (may be empty), then for each election:
--       candidate, nonce, ttl, priority, metadata, how long to count as standing by
-- Answers: 1 term is_first ttl_of_a_lease_that_ran_out | 2 rank remaining holder term since metadata plight
--          | 3 rank remaining (reserved)

local changes, wake = ARGV[2], ARGV[3]

local function stand_by(k, a)
  local line, fresh, standing = KEYS[k + 3], KEYS[k + 4], KEYS[k + 5]
  local candidate, nonce, priority = ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 4])
  if not drop_stale(k) and not is_fresh(k, nonce) then leave_line(k, nonce) end
  local score = (KEENEST - priority) * PRIORITY_STEP + now
  if write('ZADD', line, 'NX', score, nonce) == 1 then
    write('ZADD', KEYS[k + 7], number_of(candidate), place_of(score, nonce))
  end
  write('ZADD', fresh, now + tonumber(ARGV[a + 6]), nonce)
  write('HSET', standing, nonce, wake .. ' ' .. candidate)
  return redis.call('ZRANK', line, nonce)
end

-- A server without memory still tells who leads. Only the place in the line is not to be had.
local function rank_of(k, a)
  local done, rank = pcall(stand_by, k, a)
  if done then return rank end
  if string.find(text_of(rank), 'OOM', 1, true) then return 1 end
  error(rank, 0)
end

-- A foreign participant took the lease. It gets a term of its own, so that terms go on growing past it.
local function adopt(k, holder, known)
  local term = next_term(KEYS[k + 2], known)
  local function record()
    begin_anew(KEYS[k + 2], known)
    write('HSET', KEYS[k + 2], 'term', term, 'holder', holder, 'since', now)
    write('HDEL', KEYS[k + 2], 'claim', 'metadata', 'wake', 'handover', 'reserved', 'reserved_nonce', 'reserved_until')
    note_end(KEYS[k + 6], known)
    note(KEYS[k + 6], term, 'elected', 'foreign', holder)
    write('PUBLISH', changes, '0 ' .. KEYS[k + 1])
  end
  local done, failure = pcall(record)
  if not done and not string.find(text_of(failure), 'OOM', 1, true) then error(failure, 0) end
  return { term = term, since = now, metadata = false }
end

-- What is the matter with a lease that is held: 0 nothing, 1 it is foreign, 2 it was ours and had lost its expiry, 3 it is
-- foreign and has none. A lease of ours runs for its ttl at most: without an expiry (after PERSIST, say) its election would be
-- blocked for ever, and after the server's clock was set back for as long as that. A holder that lives renews it, and one that
-- does not has stopped by its own clock.
--
-- Nothing in this step may look at the lease after it. Servers before 7.2 judge by the time at which a script began whether a
-- key has run out, and set expiries by the time of each command: if the clock is set back between the two, the next look would
-- remove a lease that is held.
local function mend(lease, known)
  local left = redis.call('PTTL', lease)
  if not known.ttl then return left == -1 and 3 or 1 end
  if left == -1 or left > tonumber(known.ttl) then write('PEXPIRE', lease, known.ttl) end
  return left == -1 and 2 or 0
end

local function grant(k, a, known)
  local candidate, nonce, ttl = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  local term = next_term(KEYS[k + 2], known)
  begin_anew(KEYS[k + 2], known)
  write('SET', KEYS[k + 1], candidate, 'PX', ttl)
  write('HSET', KEYS[k + 2], 'claim', claim_of(nonce, term, ttl), 'holder', candidate, 'term', term, 'since', now,
    'metadata', ARGV[a + 5], 'wake', wake)
  write('HDEL', KEYS[k + 2], 'handover', 'reserved', 'reserved_nonce', 'reserved_until')
  note_end(KEYS[k + 6], known)
  note(KEYS[k + 6], term, 'elected', 'granted', candidate)
  drop_stale(k)
  leave_line(k, nonce)
  write('PUBLISH', changes, '0 ' .. KEYS[k + 1])
  return { 1, term, (known.term == 0 or known.forgotten) and 1 or 0, known.holder and (known.ttl or ttl) }
end

return each(7, 3, 6, function(k, a)
  local lease, election = KEYS[k + 1], KEYS[k + 2]
  local candidate, nonce, ttl = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  local holder, known = redis.call('GET', lease), recall(election)
  if holder then
    if known.holder == holder and known.nonce == nonce then
      -- A grant whose answer was lost. It runs for a whole ttl from here on.
      write('PEXPIRE', lease, ttl)
      write('HSET', election, 'claim', claim_of(nonce, known.term, ttl), 'wake', wake)
      return { 1, known.term, 0, false }
    end
    if known.holder ~= holder then known = adopt(k, holder, known) end
    local rank = rank_of(k, a)
    local left = remaining(lease, tonumber(known.ttl or ttl), known.ttl)
    return { 2, rank, left, holder, known.term, known.since, known.metadata, mend(lease, known) }
  end
  if is_reserved(known) then
    local expected = known.reserved == candidate
    if known.reserved_nonce ~= '' then expected = known.reserved_nonce == nonce end
    if not expected then return { 3, rank_of(k, a), known.reserved_until - now } end
  end
  return grant(k, a, known)
end)
