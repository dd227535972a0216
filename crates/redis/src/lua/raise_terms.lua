-- Makes the next term of each election greater than one that another store has given. A lease that runs keeps its term.
-- KEYS: lease and election only. ARGV: number, the term to go on above
-- Answers: 1 when it is higher now, else 0

return each(2, 2, 0, function(k)
  local election, above = KEYS[k + 2], tonumber(ARGV[2])
  local known = recall(election)
  if math.max(known.term, known.above) >= above then return { 0 } end
  begin_anew(election, known)
  write('HSET', election, 'above', ARGV[2])
  return { 1 }
end)
