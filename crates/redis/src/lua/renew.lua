-- Keeps each lease whose nonce and term are known.
-- KEYS: lease and election only. ARGV: number, then for each election: claim (nonce, term and ttl), ttl
-- Answers: 1 (a number, no list: nearly all are answered so) | {1 request_to_hand_over} | {0 term}

local function renew(k, a)
  local nonce, term, ttl = string.match(ARGV[a + 1], '^(%S+) (%S+) (%S+)$')
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holds(holder, known, nonce, term) then return { 0, known.term } end
  -- Allowed although the server may be out of memory, and first, because it is what matters.
  write('PEXPIRE', KEYS[k + 1], ttl)
  if known.ttl ~= ttl then write('HSET', KEYS[k + 2], 'claim', ARGV[a + 1]) end
  return { 1, redis.call('HGET', KEYS[k + 2], 'handover') }
end

-- The common case costs three commands and two comparisons. Whatever is unusual is looked at again, more closely.
local replies = {}
for i = 0, #KEYS / 2 - 1 do
  local k, a = i * 2, 1 + i * 2
  local holder = redis.pcall('GET', KEYS[k + 1])
  local known = redis.pcall('HMGET', KEYS[k + 2], 'claim', 'holder', 'handover')
  if holder and known[1] == ARGV[a + 1] and known[2] == holder and not known[3]
    and redis.pcall('PEXPIRE', KEYS[k + 1], ARGV[a + 2]) == 1 then
    replies[i + 1] = 1
  else
    replies[i + 1] = answer(renew, 2, k, a)
  end
end
return { ARGV[1], now, replies }
