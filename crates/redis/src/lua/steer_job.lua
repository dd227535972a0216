-- Does what somebody wants of a job.
-- ARGV: number, job, 'pause', 'resume' or 'run-now'
-- Answers: whether it was known, as 1 or 0

return each(4, 1, 0, function(k, a)
  local jobs, runs, name, order = KEYS[k + 3], KEYS[k + 4], ARGV[a + 1], ARGV[a + 2]
  local job = job_of(jobs, runs, name)
  if not job then return { 0 } end
  if order == 'pause' and job.paused_at == 0 then job.paused_at = now end
  if order == 'resume' then job.paused_at = 0 end
  if order == 'run-now' and job.requested == 0 then job.requested = math.floor(now / 1000) end
  put_job(jobs, runs, name, job)
  return { 1 }
end)
