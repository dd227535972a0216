-- Forgets a job and its runs.
-- ARGV: number, job
-- Answers: whether it was known, as 1 or 0

return each(4, 1, 0, function(k, a)
  local jobs, runs, name = KEYS[k + 3], KEYS[k + 4], ARGV[a + 1]
  local job = job_of(jobs, runs, name)
  if not job then return { 0 } end
  for _, run in ipairs(job.runs) do
    write('HDEL', runs, began_field(name, run.tick), ended_field(name, run.tick), retried_field(name, run.tick))
  end
  write('HDEL', runs, more_field(name))
  write('HDEL', jobs, name)
  return { 1 }
end)
