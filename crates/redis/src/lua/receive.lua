-- Tells the leader its first messages, and leaves them in line.
-- ARGV: number, channel that wakes this process (may be empty), nonce, term, how many at most, how many channels, the
--       channels, then for each line that is left out: channel, sender
-- Answers: 0 it does not lead | 1 messages, each as {id channel sender payload sent_at attempts why}

return each(5, 1, 0, function(k, a)
  local wake, nonce, term, limit = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], tonumber(ARGV[a + 4])
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holds(holder, known, nonce, term) then return { 0 } end
  -- It may have campaigned before anybody would have heard it called. Should there be no memory, it looks by itself.
  if wake ~= '' and known.wake ~= wake then redis.pcall('HSET', KEYS[k + 2], 'wake', wake) end

  local channels, held_back = {}, {}
  local first = a + 6
  local last = a + 5 + tonumber(ARGV[a + 5])
  for i = first, last do channels[ARGV[i]] = true end
  -- Nothing that is printable holds a zero byte.
  for i = last + 1, #ARGV - 1, 2 do held_back[ARGV[i] .. '\0' .. ARGV[i + 1]] = true end
  return { 1, gather(KEYS[k + 3], KEYS[k + 5], limit, function(channel, sender)
    return channels[channel] and not held_back[channel .. '\0' .. sender]
  end) }
end)
