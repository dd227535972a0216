-- Writes down what became of messages, if the leader says it.
-- ARGV: number, how many dead letters are kept, nonce, term, then for each message: id, fate, attempt, why
-- Answers: 0 it does not lead | 1 the ids that were dropped

local DONE, DEAD_LETTERED = 'done', 'dead-lettered'

-- Told twice, it counts once.
local function fail(contents, id, attempt, why)
  local failure = redis.call('HGET', contents, id .. ':failure')
  local attempts = tonumber(failure and string.match(failure, '^(%d+) ') or 0)
  write('HSET', contents, id .. ':failure', string.format('%.0f ', math.max(attempts, tonumber(attempt))) .. why)
end

local function make_dead_letter(k, id, number)
  local entry = redis.call('XRANGE', KEYS[k + 3], number, number)[1]
  -- The server has forgotten the line, but not what was in it.
  if not entry then return forget(KEYS[k + 5], id) end
  local fields = entry[2]
  put(KEYS[k + 4], 'a', KEYS[k + 5], id, fields[4], fields[6], fields[8])
  write('XDEL', KEYS[k + 3], number)
end

-- Only the newest are kept.
local function trim(dead_letters, contents, max)
  local dropped = {}
  local more = redis.call('XLEN', dead_letters) - max
  if more <= 0 then return dropped end
  for i, entry in ipairs(redis.call('XRANGE', dead_letters, '-', '+', 'COUNT', more)) do
    dropped[i] = entry[2][2]
    write('XDEL', dead_letters, entry[1])
    forget(contents, dropped[i])
  end
  return dropped
end

return each(5, 1, 0, function(k, a)
  local dead_letters_max, nonce, term = tonumber(ARGV[a + 1]), ARGV[a + 2], ARGV[a + 3]
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holds(holder, known, nonce, term) then return { 0 } end
  local messages, contents = KEYS[k + 3], KEYS[k + 5]
  local done = {}
  -- What takes memory comes first: if there is none, nothing has been changed.
  for i = a + 4, #ARGV - 3, 4 do
    local id, fate = ARGV[i], ARGV[i + 1]
    local number = not done[id] and place_in_line(contents, id)
    if number and fate == DONE then
      done[id] = number
    elseif number then
      fail(contents, id, ARGV[i + 2], ARGV[i + 3])
      if fate == DEAD_LETTERED then make_dead_letter(k, id, number) end
    end
  end
  local dropped = trim(KEYS[k + 4], contents, dead_letters_max)
  for id, number in pairs(done) do
    write('XDEL', messages, number)
    forget(contents, id)
  end
  return { 1, dropped }
end)
