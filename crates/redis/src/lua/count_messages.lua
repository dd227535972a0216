-- Tells how many messages each election has. Changes nothing.
-- ARGV: number
-- Answers: how many wait, how many are dead letters

return each(5, 1, 0, function(k)
  return { redis.call('XLEN', KEYS[k + 3]), redis.call('XLEN', KEYS[k + 4]) }
end)
