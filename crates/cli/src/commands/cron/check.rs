//! `tenure cron check`: whether a crontab can be used, and when its jobs fire.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::Serialize;
use tenure::cron::{Job, Schedule, Tick};

use super::source::{looks_like_an_expression, schedule, text_of};
use crate::args::CheckArgs;
use crate::crontab::{Crontab, CrontabError, CrontabErrors};
use crate::exit::{CommandError, Exit};
use crate::job::shown;
use crate::output::{json_line, print, table, timestamp};

/// How many ticks are shown of each job.
const SHOWN: usize = 5;

/// A crontab as `tenure cron check --json` prints it.
#[derive(Debug, Serialize)]
struct CrontabCheckLine {
    election: Option<String>,
    jobs: Vec<CheckedJobLine>,
    errors: Vec<CrontabError>,
}

#[derive(Debug, Serialize)]
struct CheckedJobLine {
    /// None if there is only an expression.
    job: Option<String>,
    schedule: String,
    time_zone: String,
    enabled: bool,
    next: Vec<NextLine>,
}

#[derive(Debug, Serialize)]
struct NextLine {
    /// By the calendar, in the job's time zone.
    local: String,
    /// The same in UTC.
    tick: String,
    /// With its jitter.
    fires_at: String,
}

pub(super) fn execute(args: &CheckArgs) -> Result<Exit, CommandError> {
    let from = args.from.unwrap_or_else(Timestamp::now);
    let after = Tick::from_unix_s(u64::try_from(from.as_second()).unwrap_or_default());
    let is_expression = looks_like_an_expression(&args.target);
    if args.tz.is_some() && !is_expression {
        let message = "--tz is for an expression; in a file, write `time-zone = \"…\"`";
        return Err(CommandError::new(Exit::Usage, message));
    }
    if is_expression {
        let schedule = schedule(text_of(&args.target)?, args.tz.as_deref())?;
        let next = schedule.ticks_after(after).take(SHOWN).map(|tick| next_line(&schedule, tick, tick.unix_ms()));
        let job = CheckedJobLine { next: next.collect(), ..job_line(&schedule) };
        tell(args.json, &CrontabCheckLine { election: None, jobs: vec![job], errors: Vec::new() })?;
        return Ok(Exit::Success);
    }
    let (crontab, found) = Crontab::read(Path::new(&args.target));
    let CrontabErrors { errors, .. } = found.clone();
    if errors.is_empty() || args.json {
        let jobs = crontab.entries.iter().map(|entry| of_job(&entry.job, after)).collect();
        tell(args.json, &CrontabCheckLine { election: Some(crontab.election), jobs, errors })?;
    }
    found.check()?;
    Ok(Exit::Success)
}

fn tell(json: bool, line: &CrontabCheckLine) -> Result<(), CommandError> {
    if json {
        return print(|out| json_line(out, line));
    }
    let rows: Vec<Vec<String>> = line.jobs.iter().flat_map(rows).collect();
    print(|out| {
        if let Some(election) = &line.election {
            writeln!(out, "{} job(s) in the election {election}; no errors\n", line.jobs.len())?;
        }
        table(out, &["JOB", "SCHEDULE", "TIME ZONE", "DUE THERE", "FIRES (UTC)"], &rows)
    })
}

fn rows(job: &CheckedJobLine) -> Vec<Vec<String>> {
    let row = |local: &str, fires_at: &str| {
        let name = job.job.as_deref().unwrap_or("-");
        [name, &job.schedule, &job.time_zone, local, fires_at].map(str::to_owned).to_vec()
    };
    if !job.enabled {
        return vec![row("never: disabled", "-")];
    }
    job.next.iter().map(|next| row(&next.local, &next.fires_at)).collect()
}

fn of_job(job: &Job, after: Tick) -> CheckedJobLine {
    let next = job.next_ticks(after, SHOWN).map(|tick| next_line(job.schedule(), tick, job.policy().due_ms(tick)));
    CheckedJobLine {
        job: Some(job.name().to_string()),
        enabled: job.policy().enabled,
        next: next.collect(),
        ..job_line(job.schedule())
    }
}

fn job_line(schedule: &Schedule) -> CheckedJobLine {
    CheckedJobLine {
        job: None,
        schedule: schedule.expression().to_owned(),
        time_zone: schedule.time_zone().to_owned(),
        enabled: true,
        next: Vec::new(),
    }
}

fn next_line(schedule: &Schedule, tick: Tick, fires_ms: u64) -> NextLine {
    NextLine { local: local(schedule.time_zone(), tick), tick: shown(tick), fires_at: timestamp(fires_ms) }
}

/// As a clock in that zone shows it, with the day of the week and what it is ahead of UTC.
fn local(zone: &str, tick: Tick) -> String {
    let found = TimeZone::get(zone).or_else(|_| TimeZoneDatabase::bundled().get(zone));
    let seconds = i64::try_from(tick.unix_s()).unwrap_or(i64::MAX);
    let zoned = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_zoned(found.unwrap_or(TimeZone::UTC));
    zoned.strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string()
}
