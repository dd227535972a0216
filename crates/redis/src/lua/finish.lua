-- Writes down how each run ended, if whoever claimed it says so.
-- ARGV: number, whether replicas are waited for ('1' or '0'), then for each run: nonce, term, job, tick, how long it took,
--       how it ended, why it failed (may be empty), how often it was tried again
-- Answers: 1 it is written down | 0 it is not

local is_confirmed_by_replicas = ARGV[2] == '1'

return each(4, 2, 8, function(k, a)
  local nonce, term, name, tick = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4]
  local jobs, runs = KEYS[k + 3], KEYS[k + 4]
  local job = job_of(jobs, runs, name)
  local run = job and find_run(job, tick)
  local owner, began_under = owner_of(runs, name, tick)
  if not run or owner ~= nonce or began_under ~= term then return { 0 } end
  -- Told twice, the first counts.
  if run.state == OPEN then
    local end_of_run = string.format('%.0f %s %s ', now, ARGV[a + 5], ARGV[a + 6]) .. ARGV[a + 7]
    write('HSET', runs, ended_field(name, tick), end_of_run)
    if tonumber(ARGV[a + 8]) > 0 then write('HSET', runs, retried_field(name, tick), ARGV[a + 8]) end
    run.state = ENDED
    if ARGV[a + 6] == 'not-begun' then
      -- It has not fired, either, and is missed until a later leader runs it.
      run.state, job.fired = NOT_BEGUN, math.max(job.fired - 1, 0)
      job.missed = math.min(job.missed + 1, MAX_COUNT)
    end
    put_job(jobs, runs, name, job)
  elseif is_confirmed_by_replicas then
    -- Replicas confirm what the same connection has written. It need not be the one on which it was told first.
    put_job(jobs, runs, name, job)
  end
  return { 1 }
end)
