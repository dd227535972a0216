-- Puts dead letters at the end of the line, as if they had never been tried.
-- ARGV: number, 'all' or 'some', then the ids of those
-- Answers: how many

return each(5, 1, 0, function(k, a)
  local messages, dead_letters, contents = KEYS[k + 3], KEYS[k + 4], KEYS[k + 5]
  local is_wanted = {}
  for i = a + 2, #ARGV do is_wanted[ARGV[i]] = true end
  local count = 0
  for _, entry in ipairs(redis.call('XRANGE', dead_letters, '-', '+')) do
    local number, fields = entry[1], entry[2]
    local id = fields[2]
    if ARGV[a + 1] == 'all' or is_wanted[id] then
      put(messages, 'w', contents, id, fields[4], fields[6], fields[8])
      write('HDEL', contents, id .. ':failure')
      write('XDEL', dead_letters, number)
      count = count + 1
    end
  end
  if count > 0 then call_leader(k) end
  return { count }
end)
