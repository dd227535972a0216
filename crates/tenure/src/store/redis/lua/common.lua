-- What all verbs share. Each verb handles a batch of elections; every election is one step, and a step that fails says so
-- in its own answer and leaves the others alone.
--
-- Of an election there are, in one hash slot:
--   KEYS[k + 1]  lease     the id of the holder, always with an expiry; all that foreign participants look at
--   KEYS[k + 2]  election  term, and what else is known of the lease; for whom it is reserved
--   KEYS[k + 3]  line      nonces of those who stand by, the next one first
--   KEYS[k + 4]  fresh     the same nonces by the instant until which they count
--   KEYS[k + 5]  standing  nonce -> channel that wakes the candidate's process, and the candidate's id
--   KEYS[k + 6]  history   transitions, the newest first
-- Renewals take the first two only.

local RESERVATION = 1000
local HISTORY_MAX = 256
local TERM_MAX = 9007199254740992
local KEENEST = 10
-- Beyond any time in milliseconds for some centuries, so that the keener go first and then those who came first.
local PRIORITY_STEP = 8796093022208

-- Whether this step has changed anything: an error after that leaves the caller in doubt.
local wrote = false

local function write(...)
  local reply = redis.call(...)
  wrote = true
  return reply
end

local function text_of(failure)
  if type(failure) == 'table' then return failure.err or 'unknown error' end
  return tostring(failure)
end

-- Milliseconds on the server's clock. It stands still while a script runs.
local function server_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Everything that is known of an election besides its lease. A holder that is recorded here need not hold it any more.
local function recall(election)
  local known = redis.call('HMGET', election, 'term', 'holder', 'nonce', 'ttl', 'since', 'metadata', 'wake',
    'reserved', 'reserved_nonce', 'reserved_until')
  return {
    term = tonumber(known[1] or 0), holder = known[2], nonce = known[3], ttl = known[4], since = known[5],
    metadata = known[6], wake = known[7], reserved = known[8], reserved_nonce = known[9],
    reserved_until = tonumber(known[10] or 0),
  }
end

-- A lease that foreign participants made without an expiry is not ours to judge: nobody waits for it in vain for longer
-- than the patience that is given.
local function remaining(lease, patience)
  local left = redis.call('PTTL', lease)
  if left < 0 then return patience end
  return math.max(left, 1)
end

local function note(history, now, term, change, reason, candidate)
  -- Foreign ids may hold any byte, and a format would end them at the first zero.
  write('LPUSH', history, string.format('%.0f %.0f %s %s ', now, term, change, reason) .. candidate)
  write('LTRIM', history, 0, HISTORY_MAX - 1)
end

-- The last leadership that was recorded has ended without a word.
local function note_end(history, now, known)
  if known.holder then
    local reason = known.nonce and 'expired' or 'ended'
    note(history, now, known.term, 'lost', reason, known.holder)
  end
end

local function leave_line(k, nonce)
  if write('ZREM', KEYS[k + 3], nonce) == 1 then
    write('ZREM', KEYS[k + 4], nonce)
    write('HDEL', KEYS[k + 5], nonce)
  end
end

-- Whoever was not heard of in time has lost its place.
local function drop_stale(k, now)
  for _, nonce in ipairs(redis.call('ZRANGEBYSCORE', KEYS[k + 4], '-inf', now)) do
    leave_line(k, nonce)
  end
end

-- Answers for all elections of the batch.
local function each(keys, head, arguments, step)
  local replies = {}
  for i = 0, #KEYS / keys - 1 do
    wrote = false
    local done, reply = pcall(step, i * keys, head + i * arguments)
    if not done then reply = { -1, wrote and 1 or 0, text_of(reply) } end
    replies[i + 1] = reply
  end
  return replies
end
