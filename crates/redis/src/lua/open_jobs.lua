-- Makes jobs known, if the leader says so, and tells how each of them stands.
-- ARGV: number, how many there may be, whether replicas are waited for ('1' or '0'), nonce, term, then for each job:
--       name, schedule, the present
-- Answers: 0 it does not lead | 2 there would be too many
--          1 and for each job {mark, ticks of interrupted runs, ticks that earlier leaders have given back, when it was paused
--          (0 if not), the second at which a run was asked for (0 if not)}

local max_jobs, is_confirmed_by_replicas = tonumber(ARGV[2]), ARGV[3] == '1'

local function open(jobs, runs, name, schedule, from, term)
  local job = job_of(jobs, runs, name)
  if not job then
    job = { mark = from, fired = 0, missed = 0, skipped = 0, paused_at = 0, requested = 0, schedule = schedule, runs = {} }
    put_job(jobs, runs, name, job)
  elseif job.schedule ~= schedule then
    job.schedule, job.mark = schedule, math.max(job.mark, from)
    put_job(jobs, runs, name, job)
  elseif is_confirmed_by_replicas then
    -- Replicas confirm what the same connection has written. It need not be the one on which the job was opened first.
    put_job(jobs, runs, name, job)
  end
  local interrupted, unbegun = {}, {}
  for _, run in ipairs(job.runs) do
    local undone = run.state == OPEN and interrupted or run.state == NOT_BEGUN and unbegun
    if undone and is_of_earlier_term(runs, name, run.tick, term) then undone[#undone + 1] = run.tick end
  end
  return { job.mark, interrupted, unbegun, job.paused_at, job.requested }
end

return each(4, 3, 0, function(k, a)
  local nonce, term = ARGV[a + 1], ARGV[a + 2]
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holds(holder, known, nonce, term) then return { 0 } end
  local jobs, runs = KEYS[k + 3], KEYS[k + 4]
  local count = redis.call('HLEN', jobs)
  for i = a + 3, #ARGV - 2, 3 do
    if not redis.call('HGET', jobs, ARGV[i]) then count = count + 1 end
  end
  if count > max_jobs then return { 2 } end
  local opened = { 1 }
  for i = a + 3, #ARGV - 2, 3 do
    -- A leader whose clock is fast must not decide what is still to come.
    local from = math.min(tonumber(ARGV[i + 2]), math.floor(now / 1000))
    opened[#opened + 1] = open(jobs, runs, ARGV[i], ARGV[i + 1], from, term)
  end
  return opened
end)
