-- What the verbs of messages share.
--
-- Of an election they need, in one hash slot:
--   KEYS[k + 1]  lease
--   KEYS[k + 2]  election
--   KEYS[k + 3]  messages  those in line: a stream of id, channel, sender, and when it was sent
--   KEYS[k + 4]  aside     the dead letters, in the same form; the key is older than the word
--   KEYS[k + 5]  contents  ID:place    'w' or 'a' for the stream it is in, and its number there
--                          ID:payload
--                          ID:failure  how many attempts have failed, and why the last one did
-- Payloads are apart, so that walking along a line does not touch them.

-- So many are looked at in one go.
local PAGE = 100

-- The smallest number above this one. Not all servers know ranges that leave out their beginning.
local function after(number)
  local ms, count = string.match(number, '^(%d+)%-(%d+)$')
  return string.format('%s-%.0f', ms, tonumber(count) + 1)
end

local function put(stream, mark, contents, id, channel, sender, sent_at)
  local number = write('XADD', stream, '*', 'id', id, 'channel', channel, 'sender', sender, 'sent_at', sent_at)
  write('HSET', contents, id .. ':place', mark .. number)
end

local function forget(contents, id)
  write('HDEL', contents, id .. ':place', id .. ':payload', id .. ':failure')
end

-- Where a message is in line, if it is.
local function place_in_line(contents, id)
  local place = redis.call('HGET', contents, id .. ':place')
  return place and string.match(place, '^w(.*)$')
end

-- A message as it is told; nothing if the server has forgotten what it says.
local function told(contents, id, channel, sender, sent_at)
  local known = redis.call('HMGET', contents, id .. ':payload', id .. ':failure')
  if not known[1] then return nil end
  local attempts, why = string.match(known[2] or '', '^(%d+) (.*)$')
  return { id, channel, sender, known[1], sent_at, tonumber(attempts or 0), why or false }
end

-- The first messages of a stream that are wanted.
local function gather(stream, contents, limit, is_wanted)
  local found, from = {}, '-'
  while #found < limit do
    local page = redis.call('XRANGE', stream, from, '+', 'COUNT', PAGE)
    for _, entry in ipairs(page) do
      local fields = entry[2]
      local channel, sender = fields[4], fields[6]
      if #found < limit and is_wanted(channel, sender) then
        found[#found + 1] = told(contents, fields[2], channel, sender, fields[8])
      end
    end
    if #page < PAGE then break end
    from = after(page[PAGE][1])
  end
  return found
end

-- Tells whoever leads that messages wait. Foreign participants do not listen for it.
local function call_leader(k)
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if holder and known.holder == holder and known.nonce and known.wake and known.wake ~= '' then
    write('PUBLISH', known.wake, 'messages ' .. KEYS[k + 1])
  end
end
