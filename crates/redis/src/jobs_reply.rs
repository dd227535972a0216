//! Decodes the replies of the scripts for jobs.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use tenure_store::JobName;
use tenure_store::ledger::{Claimed, JobReport, Opened, OpenedJob, RunEnd, RunOutcome, RunReport, Tick};

use super::error::RedisStoreError;
use super::lease_reply::{ReplyFields, nonsense, number, text};
use super::mailbox_reply::payload;

pub(super) fn opened(answer: &Value) -> Result<Opened, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    match (fields.number(0)?, fields.all()) {
        (0, _) => Ok(Opened::NotHolder),
        (1, [_, jobs @ ..]) => jobs.iter().map(opened_job).collect::<Result<_, _>>().map(Opened::Jobs),
        (2, _) => Ok(Opened::TooMany),
        _ => Err(nonsense(answer)),
    }
}

fn opened_job(answer: &Value) -> Result<OpenedJob, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    let tick_of = |value| number(value).map(Tick::from_unix_s).ok_or_else(|| nonsense(answer));
    let ticks = |position| match fields.optional(position) {
        Some(Value::Array(ticks)) => ticks.iter().map(tick_of).collect::<Result<_, _>>(),
        _ => Err(nonsense(answer)),
    };
    Ok(OpenedJob {
        mark: tick(&fields, 0)?,
        interrupted: ticks(1)?,
        unbegun: ticks(2)?,
        is_paused: fields.number(3)? > 0,
        requested: requested(&fields, 4)?,
    })
}

pub(super) fn claimed(answer: &Value) -> Result<Claimed, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    match fields.number(0)? {
        0 => Ok(Claimed::NotHolder),
        1 => Ok(Claimed::Granted),
        2 => Ok(Claimed::Decided { mark: tick(&fields, 1)? }),
        3 => Ok(Claimed::Early { by: Duration::from_millis(fields.number(1)?) }),
        4 => Ok(Claimed::Unopened),
        5 => Ok(Claimed::Paused),
        _ => Err(nonsense(answer)),
    }
}

pub(super) fn yes_or_no(answer: &Value) -> Result<bool, RedisStoreError> {
    match ReplyFields::of(answer)?.number(0)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(nonsense(answer)),
    }
}

/// Sorted by name: the server stores them in any order.
pub(super) fn jobs(answer: &Value) -> Result<Vec<JobReport>, RedisStoreError> {
    let mut jobs: Vec<JobReport> = ReplyFields::of(answer)?.all().iter().map(job).collect::<Result<_, _>>()?;
    jobs.sort_by(|one, other| one.job.cmp(&other.job));
    Ok(jobs)
}

fn job(answer: &Value) -> Result<JobReport, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    let Some(Value::Array(runs)) = fields.optional(5) else { return Err(nonsense(answer)) };
    let name = fields.optional(0).map(text).unwrap_or_default();
    Ok(JobReport {
        job: JobName::new(name).map_err(|_| nonsense(answer))?,
        schedule: fields.optional(1).and_then(payload).ok_or_else(|| nonsense(answer))?,
        mark: tick(&fields, 2)?,
        fired: fields.number(3)?,
        missed: fields.number(4)?,
        skipped: fields.number(6)?,
        paused_at_unix_ms: Some(fields.number(7)?).filter(|at| *at > 0),
        requested: requested(&fields, 8)?,
        runs: runs.iter().map(run).collect::<Result<_, _>>()?,
    })
}

fn run(answer: &Value) -> Result<RunReport, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    let end = match fields.optional(4) {
        Some(_) => Some(end(&fields).ok_or_else(|| nonsense(answer))?),
        None => None,
    };
    Ok(RunReport {
        tick: tick(&fields, 0)?,
        term: fields.term(1)?,
        candidate: fields.candidate(2)?,
        began_at_unix_ms: fields.number(3)?,
        end,
    })
}

fn end(fields: &ReplyFields<'_>) -> Option<RunEnd> {
    let why: Option<Arc<str>> = fields.optional(7).and_then(payload);
    Some(RunEnd {
        at_unix_ms: fields.number(4).ok()?,
        took: Duration::from_nanos(fields.number(5).ok()?),
        retries: u32::try_from(fields.number(8).ok()?).ok()?,
        outcome: RunOutcome::from_words(&text(fields.optional(6)?), why.map(|why| why.as_ref().to_owned()))?,
    })
}

/// Decodes a requested tick; zero means that there is none.
fn requested(fields: &ReplyFields<'_>, position: usize) -> Result<Option<Tick>, RedisStoreError> {
    Ok(Some(fields.number(position)?).filter(|second| *second > 0).map(Tick::from_unix_s))
}

fn tick(fields: &ReplyFields<'_>, position: usize) -> Result<Tick, RedisStoreError> {
    fields.number(position).map(Tick::from_unix_s)
}

#[cfg(test)]
mod tests {
    use tenure_fuzz::Fuzz;

    use super::*;

    #[test]
    fn fuzz_redis_jobs() {
        Fuzz::target("redis-jobs")
            .words(&[
                "*9\r\n",
                "*8\r\n",
                "*7\r\n",
                "*6\r\n",
                "*4\r\n",
                "*2\r\n",
                "*1\r\n",
                "*0\r\n",
                ":0\r\n",
                ":1\r\n",
                ":-1\r\n",
                "$-1\r\n",
                "$3\r\n200\r\n",
                "$9\r\nsucceeded\r\n",
            ])
            .run(|input| {
                let Ok(value) = redis::parse_redis_value(input) else { return };
                // An answer or a fault, whatever the server says; and what is told of a job is what it has.
                let _ = (opened(&value), claimed(&value), yes_or_no(&value));
                for report in jobs(&value).into_iter().flatten() {
                    assert!(!report.job.as_str().is_empty() && report.mark <= Tick::MAX);
                    assert!(report.schedule.len() <= input.len() && report.runs.len() <= input.len());
                }
            });
    }
}
