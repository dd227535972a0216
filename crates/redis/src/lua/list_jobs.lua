-- Tells all jobs, each with its latest runs. Changes nothing.
-- ARGV: number, how many runs of each at most
-- Answers: jobs, each as {name schedule mark fired missed runs skipped paused_at requested}, with runs as {tick term candidate began_at}, and those that
--          ended with {… ended_at took outcome why retries} as well

local function run_of(runs, name, tick)
  local _, term, began_at, candidate = owner_of(runs, name, tick)
  -- The server has forgotten the run, but not that there was one.
  if not term then return nil end
  local ended = redis.call('HGET', runs, ended_field(name, tick)) or ''
  local ended_at, took, outcome, why = string.match(ended, '^(%S+) (%S+) (%S+) (.*)$')
  local retries = ended_at and (redis.call('HGET', runs, retried_field(name, tick)) or '0')
  return { tick, term, candidate, began_at, ended_at, took, outcome, why, retries }
end

return each(4, 1, 0, function(k, a)
  local jobs, runs, max_runs = KEYS[k + 3], KEYS[k + 4], tonumber(ARGV[a + 1])
  local listed = {}
  for _, name in ipairs(redis.call('HKEYS', jobs)) do
    local job = job_of(jobs, runs, name)
    local told = {}
    for j = #job.runs, 1, -1 do
      if #told < max_runs then told[#told + 1] = run_of(runs, name, job.runs[j].tick) end
    end
    listed[#listed + 1] = { name, job.schedule, job.mark, job.fired, job.missed, told, job.skipped, job.paused_at, job.requested }
  end
  return listed
end)
