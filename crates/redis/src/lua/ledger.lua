-- What the verbs of jobs share.
--
-- Of an election they need, in one hash slot:
--   KEYS[k + 1]  lease
--   KEYS[k + 2]  election
--   KEYS[k + 3]  jobs  name -> mark, how often it fired, how many ticks were missed, its runs, and its schedule
--   KEYS[k + 4]  runs  NAME:TICK:began  the nonce and the term that own it, when it began, and the candidate
--                      NAME:TICK:ended  when it ended, how long it took, how it ended, and why it failed
--                      NAME:TICK:retried  how often it was tried again, if it was
--                      NAME:more        how many ticks were skipped, when it was paused, and at which second a run was asked for
--                                       (0 if not); beside the job, because earlier versions read that, too
-- The runs of a job are its ticks, the oldest first. A star follows those whose end was not told, and an exclamation mark
-- those that never began: they were given back. None of this expires.

local MAX_COUNT = 9007199254740992

-- What follows the tick of a run.
local OPEN, ENDED, NOT_BEGUN = '*', '', '!'

local function more_field(name) return name .. ':more' end

-- What is known of a job; nothing if it was not opened.
local function job_of(jobs, runs, name)
  local known = redis.call('HGET', jobs, name)
  if not known then return nil end
  local mark, fired, missed, ticks, schedule = string.match(known, '^(%d+) (%d+) (%d+) (%S*) (.*)$')
  local job = {
    mark = tonumber(mark), fired = tonumber(fired), missed = tonumber(missed), schedule = schedule, runs = {},
  }
  local more = redis.call('HGET', runs, more_field(name)) or '0 0 0'
  local skipped, paused_at, requested = string.match(more, '^(%d+) (%d+) (%d+)$')
  job.skipped, job.paused_at, job.requested = tonumber(skipped), tonumber(paused_at), tonumber(requested)
  job.more = more
  for tick, state in string.gmatch(ticks, '(%d+)([*!]?)') do
    job.runs[#job.runs + 1] = { tick = tick, state = state }
  end
  return job
end

-- Put together without a format for the schedule: it may hold anything, even a zero byte.
local function put_job(jobs, runs, name, job)
  local ticks = {}
  for i, run in ipairs(job.runs) do ticks[i] = run.tick .. run.state end
  local counts = string.format('%.0f %.0f %.0f ', job.mark, job.fired, job.missed)
  write('HSET', jobs, name, counts .. table.concat(ticks, ',') .. ' ' .. job.schedule)
  local more = string.format('%.0f %.0f %.0f', job.skipped, job.paused_at, job.requested)
  if more ~= job.more then write('HSET', runs, more_field(name), more) end
end

local function began_field(name, tick) return name .. ':' .. tick .. ':began' end
local function ended_field(name, tick) return name .. ':' .. tick .. ':ended' end
local function retried_field(name, tick) return name .. ':' .. tick .. ':retried' end

-- The run of a job for this tick, if it is kept.
local function find_run(job, tick)
  for _, run in ipairs(job.runs) do
    if run.tick == tick then return run end
  end
end

-- Nonce, term, when, and candidate; nothing if the server has forgotten them.
local function owner_of(runs, name, tick)
  return string.match(redis.call('HGET', runs, began_field(name, tick)) or '', '^(%S+) (%S+) (%S+) (.*)$')
end

-- Whether it was claimed by an earlier leader than that of this term.
local function is_of_earlier_term(runs, name, tick, term)
  local _, began_under = owner_of(runs, name, tick)
  return began_under and tonumber(began_under) < tonumber(term)
end

-- It is the run of whoever asks from here on.
local function begin(runs, name, tick, nonce, term, candidate)
  write('HSET', runs, began_field(name, tick), string.format('%s %s %.0f ', nonce, term, now) .. candidate)
end
