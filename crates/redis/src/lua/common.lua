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
--   KEYS[k + 7]  names     places and nonces of those who stand by, under a number for the candidate's id
-- Renewals take the first two only.
--
-- ARGV[1] is the number of the call, which the answer repeats: an answer to another call is never taken for this one's.

local RESERVATION = 1000
local MAX_HISTORY = 256
-- From the next number on, a number plus one may be the same number.
local MAX_TERM = 9007199254740991
local KEENEST = 10
-- So many who have lost their place are cleared away in one step. Each of them was added in a step of its own.
local MAX_DROPPED = 32
-- Beyond any time in milliseconds for some centuries, so that higher priorities go first and then those who came first.
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

-- Milliseconds on the server's clock, which stands still while a script runs.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- What a holder has to say to keep its lease. It fits into the compact form in which Redis keeps small hashes.
local function claim_of(nonce, term, ttl)
  return string.format('%s %.0f %s', nonce, term, ttl)
end

-- A number of ours; an error that names its place if somebody has put something else there.
local function number_in(election, field, text)
  local number = tonumber(text or 0)
  if number and number >= 0 and number <= MAX_TERM and number == math.floor(number) then return number end
  error(string.format('DAMAGED the field %s of the key %q is %q', field, election, text), 0)
end

-- Everything that is known of an election besides its lease. A holder that is recorded here need not hold it any more;
-- one without a nonce is a foreign participant.
local function recall(election)
  local known = redis.call('HMGET', election, 'term', 'holder', 'claim', 'since', 'metadata', 'wake', 'reserved',
    'reserved_nonce', 'reserved_until', 'forgotten', 'above')
  local nonce, ttl
  if known[3] then nonce, ttl = string.match(known[3], '^(%S+) %S+ (%S+)$') end
  return {
    term = number_in(election, 'term', known[1]), holder = known[2], nonce = nonce, ttl = ttl, since = known[4],
    metadata = known[5], wake = known[6], reserved = known[7], reserved_nonce = known[8],
    reserved_until = number_in(election, 'reserved_until', known[9]), forgotten = known[10],
    above = number_in(election, 'above', known[11]),
  }
end

-- Terms are never below the time, nor below those that another store has given. When none is left, nobody leads rather than
-- two under one term.
local function next_term(election, known)
  local term = math.max(known.term + 1, known.above + 1, now)
  if term <= MAX_TERM then return term end
  error(string.format('DAMAGED the term of the key %q is the last one: its terms are used up, so no candidate can lead, not even after it is removed; without a backup, use another name', election), 0)
end

-- An election that was forgotten begins anew: what is left of it would end with its expiry.
local function begin_anew(election, known)
  if known.forgotten then write('DEL', election) end
end

-- A lease that foreign participants made without an expiry is not ours to judge: nobody waits for it in vain for longer
-- than the patience that is given. A lease that seems to last longer than its ttl outlived a clock that was set back.
local function remaining(lease, patience, ttl)
  local left = redis.call('PTTL', lease)
  if left < 0 then return patience end
  if ttl then left = math.min(left, tonumber(ttl)) end
  return math.max(left, 1)
end

-- Whether this nonce holds the lease under this term now. `holder` is what the lease says.
local function holds(holder, known, nonce, term)
  return holder and known.holder == holder and known.nonce == nonce and known.term == tonumber(term)
end

-- Whether a reservation still counts. After a clock was set back it would last for as long as that.
local function is_reserved(known)
  return known.reserved and now < known.reserved_until and known.reserved_until - now <= RESERVATION
end

-- Put together without a format for the id: a foreign one may hold anything, even a zero byte.
local function note(history, term, change, reason, candidate)
  write('LPUSH', history, string.format('%.0f %.0f %s %s ', now, term, change, reason) .. candidate)
  -- Each time, so that a user without this right finds out with the first transition and not with a late one.
  write('LTRIM', history, 0, MAX_HISTORY - 1)
end

-- The last leadership that was recorded has ended without a word.
local function note_end(history, known)
  if known.holder then
    local reason = known.nonce and 'expired' or 'ended'
    note(history, known.term, 'lost', reason, known.holder)
  end
end

-- Under which number candidates of this id are found among the names: 52 bits, which fit into a score.
local function number_of(candidate)
  return tonumber(string.sub(redis.sha1hex(candidate), 1, 13), 16)
end

-- How a place in line is written among the names, where those of one number are kept in the order of their text.
local function place_of(score, nonce)
  return string.format('%020.0f ', score) .. nonce
end

local function leave_line(k, nonce)
  local score = redis.call('ZSCORE', KEYS[k + 3], nonce)
  if score then
    write('ZREM', KEYS[k + 3], nonce)
    write('ZREM', KEYS[k + 4], nonce)
    write('HDEL', KEYS[k + 5], nonce)
    write('ZREM', KEYS[k + 7], place_of(tonumber(score), nonce))
  end
end

-- Whoever was not heard of in time has lost its place. Returns whether nobody of them is left.
local function drop_stale(k)
  local stale = redis.call('ZRANGEBYSCORE', KEYS[k + 4], '-inf', now, 'LIMIT', 0, MAX_DROPPED)
  for _, nonce in ipairs(stale) do leave_line(k, nonce) end
  if #stale > 0 then write('ZREM', KEYS[k + 4], unpack(stale)) end
  return #stale < MAX_DROPPED
end

local function is_fresh(k, nonce)
  local fresh_until = redis.call('ZSCORE', KEYS[k + 4], nonce)
  return fresh_until and now < tonumber(fresh_until)
end

-- What each key of an election holds, by the end of its name. The lease, which is a string, may have any name.
local TYPES = {
  election = 'hash', line = 'zset', fresh = 'zset', standing = 'hash', history = 'list', names = 'zset',
  messages = 'stream', aside = 'stream', contents = 'hash', jobs = 'hash', runs = 'hash',
}

-- Names the first of these keys that somebody has put something else into; nothing if they are as they should be, or if the
-- user may not ask.
local function misfit(k, keys)
  for i = 1, keys do
    local wanted = i == 1 and 'string' or TYPES[string.match(KEYS[k + i], '%l+$')]
    local found = redis.pcall('TYPE', KEYS[k + i]).ok
    if found and found ~= 'none' and found ~= wanted then
      return string.format('DAMAGED the key %q is a %s where a %s should be', KEYS[k + i], found, wanted)
    end
  end
end

-- The answer to one election, whatever goes wrong with it.
local function answer(step, keys, k, a)
  wrote = false
  local done, reply = pcall(step, k, a)
  if done then return reply end
  local text = text_of(reply)
  if string.find(text, 'WRONGTYPE', 1, true) then text = misfit(k, keys) or text end
  return { -1, wrote and 1 or 0, text }
end

-- Answers for all elections of the batch. `head` arguments come before those of the first election.
local function each(keys, head, arguments, step)
  local replies = {}
  for i = 0, #KEYS / keys - 1 do
    replies[i + 1] = answer(step, keys, i * keys, head + i * arguments)
  end
  return { ARGV[1], now, replies }
end
