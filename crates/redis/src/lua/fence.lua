-- Runs commands if no higher term was here before.
-- KEYS: the fence, the key that it guards. ARGV: term, then for each command: how many words, and the words
local term = tonumber(ARGV[1])
local seen = tonumber(redis.call('GET', KEYS[1]) or 0)
if term < seen then
  return redis.error_reply(string.format('STALE term %.0f is over: term %.0f was here', term, seen))
end
if term > seen then redis.call('SET', KEYS[1], ARGV[1]) end
local replies, position = {}, 2
while position <= #ARGV do
  local words = tonumber(ARGV[position])
  replies[#replies + 1] = redis.call(unpack(ARGV, position + 1, position + words))
  position = position + words + 1
end
return replies
