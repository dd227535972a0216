-- Forgets each election that nobody uses. How high its terms were is kept for a while: a clock that is set back, or that of
-- another server, must not let them fall.
-- KEYS: those of elections, then messages, aside, contents, jobs and runs
-- ARGV: number, for how long nothing may have changed
-- A record that is damaged is removed with all that can be read of it, unless it has to be idle: nobody knows since when it is.
-- Answers: 0 unknown | 1 forgotten | 2 led | 3 stood by | 4 messages wait | 5 changed recently

-- A day, in milliseconds: longer than clocks differ.
local REMEMBERED = 86400000

-- The answer, or this instead where a key holds something else.
local function readable(otherwise, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return otherwise end
  return reply
end

-- The highest term that can be read of what is damaged, and that a clock which is right allows for. No term is below the time
-- of its grant.
local function salvage(k)
  local claim, newest = readable(false, 'HGET', KEYS[k + 2], 'claim'), readable({}, 'LRANGE', KEYS[k + 6], 0, 0)[1]
  local texts = {
    readable(false, 'HGET', KEYS[k + 2], 'term') or '',
    readable(false, 'HGET', KEYS[k + 2], 'above') or '',
    string.match(claim or '', '^%S+ (%d+) ') or '',
    string.match(newest or '', '^%d+ (%d+) ') or '',
  }
  local highest = now
  for _, text in ipairs(texts) do
    local term = string.match(text, '^%d+$') and tonumber(text) or 0
    if term <= MAX_TERM then highest = math.max(highest, term) end
  end
  return { term = highest, above = 0 }
end

return each(12, 2, 0, function(k)
  local lease, election, history = KEYS[k + 1], KEYS[k + 2], KEYS[k + 6]
  local damage = misfit(k, 12)
  local is_read, known = pcall(recall, election)
  if not is_read then damage = damage or known end
  if damage and ARGV[2] ~= '0' then error(damage, 0) end
  if not is_read then known = salvage(k) end
  if not damage and (known.term == 0 or known.forgotten) then
    return { redis.call('XLEN', KEYS[k + 8]) > 0 and 4 or 0 }
  end
  if readable(false, 'GET', lease) or is_reserved(known) then return { 2 } end
  if #readable({}, 'ZRANGEBYSCORE', KEYS[k + 4], '(' .. now, '+inf', 'LIMIT', 0, 1) > 0 then return { 3 } end
  if readable(0, 'XLEN', KEYS[k + 8]) > 0 then return { 4 } end
  -- A lease that ran out without a word is ended here, so that its age counts from a moment that is written down.
  if known.holder and not damage then
    note_end(history, known)
    write('HDEL', election, 'claim', 'holder', 'since', 'metadata', 'wake', 'handover')
  end
  local newest = readable({}, 'LRANGE', history, 0, 0)[1]
  local changed_at = newest and tonumber(string.match(newest, '^%d+')) or 0
  if now - changed_at < tonumber(ARGV[2]) then return { 5 } end
  for i = 1, 12 do write('DEL', KEYS[k + i]) end
  local highest = math.max(known.term, known.above)
  write('HSET', election, 'term', string.format('%.0f', highest), 'forgotten', 1)
  -- Until the time has reached it, nothing else keeps terms from falling.
  write('PEXPIRE', election, string.format('%.0f', REMEMBERED + math.max(highest - now, 0)))
  return { 1 }
end)
