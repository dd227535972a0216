-- Decides each tick, if the leader says so.
-- ARGV: number, how many runs of a job are kept, by how many milliseconds a tick may be early, whether replicas are waited
--       for ('1' or '0'), then for each tick: nonce, term, candidate, job, tick, 'run', 'again', 'pass' or 'skip', how many
--       are left out
-- Answers: 0 it does not lead | 1 granted | 2 mark | 3 by how many milliseconds it is early | 4 the job was not opened
--          5 it is paused

local RUN, AGAIN, SKIP = 'run', 'again', 'skip'
local max_runs, max_early, is_confirmed_by_replicas = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'

-- Only the newest are kept.
local function trim(runs, name, job)
  local dropped = {}
  while #job.runs > max_runs do
    local tick = table.remove(job.runs, 1).tick
    dropped[#dropped + 1] = began_field(name, tick)
    dropped[#dropped + 1] = ended_field(name, tick)
    dropped[#dropped + 1] = retried_field(name, tick)
  end
  return dropped
end

-- Whether it is a claim whose reply was lost.
local function is_own(job, runs, name, tick, nonce, term, act)
  local run = (act == RUN or act == AGAIN) and find_run(job, tick)
  local owner, began_under = owner_of(runs, name, tick)
  return run and run.state == OPEN and owner == nonce and began_under == term
end

return each(4, 4, 7, function(k, a)
  local nonce, term, candidate, name, tick, act = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6]
  local holder, known = redis.call('GET', KEYS[k + 1]), recall(KEYS[k + 2])
  if not holds(holder, known, nonce, term) then return { 0 } end
  local jobs, runs = KEYS[k + 3], KEYS[k + 4]
  local job = job_of(jobs, runs, name)
  if not job then return { 4 } end
  local ahead = tonumber(tick) * 1000 - now
  if ahead > max_early then return { 3, ahead } end

  if job.paused_at > 0 and not is_own(job, runs, name, tick, nonce, term, act) then return { 5 } end
  if act ~= AGAIN and tonumber(tick) > job.mark then
    local count = act == SKIP and 'skipped' or 'missed'
    job.mark, job[count] = tonumber(tick), math.min(job[count] + tonumber(ARGV[a + 7]), MAX_COUNT)
    local dropped = {}
    if act == RUN then
      begin(runs, name, tick, nonce, term, candidate)
      job.fired = job.fired + 1
      if tonumber(tick) >= job.requested then job.requested = 0 end
      job.runs[#job.runs + 1] = { tick = tick, state = OPEN }
      dropped = trim(runs, name, job)
    end
    put_job(jobs, runs, name, job)
    if #dropped > 0 then write('HDEL', runs, unpack(dropped)) end
    return { 1 }
  end

  local run = find_run(job, tick)
  if (act == RUN or act == AGAIN) and run then
    local owner, began_under = owner_of(runs, name, tick)
    if run.state == OPEN and owner == nonce and began_under == term then
      -- A claim whose reply was lost. Replicas confirm what the same connection has written, and it need not be that one.
      if is_confirmed_by_replicas then put_job(jobs, runs, name, job) end
      return { 1 }
    end
    -- What was cut off, or never began, is taken over by a later leader.
    if act == AGAIN and run.state ~= ENDED and is_of_earlier_term(runs, name, tick, term) then
      begin(runs, name, tick, nonce, term, candidate)
      if run.state == NOT_BEGUN then
        write('HDEL', runs, ended_field(name, tick), retried_field(name, tick))
        job.missed = math.max(job.missed - 1, 0)
      end
      run.state = OPEN
      job.fired = job.fired + 1
      put_job(jobs, runs, name, job)
      return { 1 }
    end
  end
  return { 2, job.mark }
end)
