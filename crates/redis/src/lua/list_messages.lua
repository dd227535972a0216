-- Tells the first messages of a stream. Changes nothing.
-- ARGV: number, 'messages' or 'aside', how many at most
-- Answers: messages, each as {id channel sender payload sent_at attempts why}

return each(5, 1, 0, function(k, a)
  local stream = ARGV[a + 1] == 'aside' and KEYS[k + 4] or KEYS[k + 3]
  return gather(stream, KEYS[k + 5], tonumber(ARGV[a + 2]), function() return true end)
end)
