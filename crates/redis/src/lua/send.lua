-- Puts each message at the end of the line, unless it is there or is a dead letter.
-- ARGV: number, how many may wait, whether replicas are waited for ('1' or '0'), then for each message:
--       id, channel, sender, payload
-- Answers: 1 accepted | 0 too many wait

local waiting_max, is_confirmed_by_replicas = tonumber(ARGV[2]), ARGV[3] == '1'
local called = {}

return each(5, 3, 4, function(k, a)
  local lease, messages, contents = KEYS[k + 1], KEYS[k + 3], KEYS[k + 5]
  local id = ARGV[a + 1]
  local place = redis.call('HGET', contents, id .. ':place')
  if not place then
    if redis.call('XLEN', messages) >= waiting_max then return { 0 } end
    put(messages, 'w', contents, id, ARGV[a + 2], ARGV[a + 3], string.format('%.0f', now))
    write('HSET', contents, id .. ':payload', ARGV[a + 4])
  elseif is_confirmed_by_replicas then
    -- Replicas confirm what the same connection has written. It need not be the one on which the message came first.
    redis.pcall('HSET', contents, id .. ':place', place)
  end
  if not called[lease] then
    called[lease] = true
    call_leader(k)
  end
  return { 1 }
end)
