-- Forgets each election that nobody uses. How high its terms were is kept for a while: a clock that is set back, or that of
-- another server, must not let them fall.
-- KEYS: those of elections, then messages, aside, contents, jobs and runs
-- ARGV: number, for how long nothing may have changed
-- Answers: 0 unknown | 1 forgotten | 2 led | 3 stood by | 4 messages wait | 5 changed recently

-- A day, in milliseconds: longer than clocks differ.
local REMEMBERED = 86400000

return each(12, 2, 0, function(k)
  local lease, election, history = KEYS[k + 1], KEYS[k + 2], KEYS[k + 6]
  local known = recall(election)
  if known.term == 0 or known.forgotten then return { 0 } end
  if redis.call('GET', lease) or is_reserved(known) then return { 2 } end
  if #redis.call('ZRANGEBYSCORE', KEYS[k + 4], '(' .. now, '+inf', 'LIMIT', 0, 1) > 0 then return { 3 } end
  if redis.call('XLEN', KEYS[k + 8]) > 0 then return { 4 } end
  -- A lease that ran out without a word is ended here, so that its age counts from a moment that is written down.
  if known.holder then
    note_end(history, known)
    write('HDEL', election, 'claim', 'holder', 'since', 'metadata', 'wake', 'handover')
  end
  local newest = redis.call('LRANGE', history, 0, 0)[1]
  local changed_at = newest and tonumber(string.match(newest, '^%d+')) or 0
  if now - changed_at < tonumber(ARGV[2]) then return { 5 } end
  for i = 2, 12 do write('DEL', KEYS[k + i]) end
  write('HSET', election, 'term', known.term, 'forgotten', 1)
  write('PEXPIRE', election, REMEMBERED)
  return { 1 }
end)
