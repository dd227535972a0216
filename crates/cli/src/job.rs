//! Jobs and their runs, as they are printed.

use std::time::Duration;

use serde::Serialize;
use tenure::JobName;
use tenure::cron::{JobEvent, Passed, RunOutcome, RunReport, Tick};

use crate::duration::show;
use crate::message::printable;
use crate::output::{timestamp, timestamp_in_seconds};

/// A tick as RFC 3339 in UTC.
#[must_use]
pub fn shown(tick: Tick) -> String {
    timestamp_in_seconds(tick.unix_s())
}

/// The additional fields of events about jobs.
#[derive(Debug, Default, Serialize)]
pub struct JobFields {
    job: String,
    tick: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    late_ms: Option<u64>,
    /// Of `fired`: how many ticks were missed before it. Of `missed` and `skipped`: how many were passed over. Of
    /// `retrying`: how often it will have been tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<bool>,
    /// Of `retrying`: how long until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

impl JobFields {
    /// Returns the name of the event, its reason and its fields; `None` for events that are not shown.
    #[must_use]
    pub fn new(job: &JobName, tick: Tick, job_event: &JobEvent) -> Option<(&'static str, Option<String>, Self)> {
        let fields = Self { job: job.to_string(), tick: shown(tick), ..Self::default() };
        Some(match job_event {
            JobEvent::Fired { late, missed, again } => {
                let late_ms = late.map(millis);
                ("fired", None, Self { late_ms, count: Some(*missed), again: Some(*again), ..fields })
            }
            JobEvent::Passed { count, why } => {
                let event = if *why == Passed::Missed { "missed" } else { "skipped" };
                (event, Some(reason(*why).to_owned()), Self { count: Some(*count), ..fields })
            }
            JobEvent::Retrying { retry, after, why } => {
                let after_ms = Some(millis(*after));
                ("retrying", Some(why.clone()), Self { count: Some(u64::from(*retry)), after_ms, ..fields })
            }
            JobEvent::Ended { took, outcome } => {
                let took_ms = Some(millis(*took));
                ("ended", outcome.why().map(str::to_owned), Self { took_ms, outcome: Some(outcome.label()), ..fields })
            }
            _ => return None,
        })
    }
}

/// Describes an event about a job in one sentence; `None` for events that people need not know.
#[must_use]
pub fn sentence(job: &JobName, tick: Tick, job_event: &JobEvent) -> Option<String> {
    let tick = shown(tick);
    Some(match job_event {
        JobEvent::Fired { late, missed, again } => {
            let again = if *again { " once more" } else { "" };
            let late = late.map(|late| format!(", {} late", show(late))).unwrap_or_default();
            let missed = if *missed > 0 { format!("; {missed} tick(s) before it were missed") } else { String::new() };
            format!("job {job} fired{again}, due {tick}{late}{missed}")
        }
        JobEvent::Passed { count, why: Passed::Missed } => {
            format!("job {job}: {count} tick(s) up to {tick} were missed and will not run")
        }
        JobEvent::Passed { why: Passed::Overlap, .. } => {
            format!("job {job}, due {tick}, skipped: its previous run is still going")
        }
        JobEvent::Passed { count, why: Passed::Replaced } => {
            format!(
                "job {job}: {count} tick(s) up to {tick} waited for the last run to end; a later one takes their place"
            )
        }
        JobEvent::Retrying { retry, after, why } => {
            let (why, after) = (printable(why), show(*after));
            format!("job {job}, due {tick}, {why}; retrying in {after} (retry {retry})")
        }
        JobEvent::Ended { took, outcome } => {
            let took = show(*took);
            match outcome {
                RunOutcome::Succeeded => format!("job {job}, due {tick}, succeeded after {took}"),
                RunOutcome::Failed { why } => format!("job {job}, due {tick}, {} after {took}", printable(why)),
                RunOutcome::TimedOut => format!("job {job}, due {tick}, timed out and was stopped after {took}"),
                RunOutcome::Cancelled => {
                    format!("job {job}, due {tick}, was stopped after {took}: the leadership ended")
                }
                RunOutcome::NotBegun => format!("job {job}, due {tick}, never started; its tick was given back"),
                other => format!("job {job}, due {tick}, ended after {took}: {other}"),
            }
        }
        _ => return None,
    })
}

/// A run as `tenure cron status --json` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// The due time.
    pub tick: String,
    /// The term it ran under.
    pub term: u64,
    /// The candidate that ran it.
    pub candidate: String,
    /// The start time, on the store's wall clock.
    pub began_at: String,
    /// The time at which its outcome was reported.
    pub ended_at: Option<String>,
    /// The duration of the run.
    pub took_ms: Option<u64>,
    /// The number of retries.
    pub retries: Option<u32>,
    /// The outcome: `succeeded`, `failed`, `timed_out`, `cancelled`, `not_begun` or `interrupted`; `running` before it
    /// has ended.
    pub outcome: &'static str,
    /// The reason of a failure.
    pub reason: Option<String>,
}

impl RunLine {
    /// Describes a run. A run without an outcome still goes on only if its term still leads.
    #[must_use]
    pub fn new(run: &RunReport, leads: Option<tenure::Term>) -> Self {
        let end = run.end.as_ref();
        let without_end = if leads == Some(run.term) { "running" } else { "interrupted" };
        Self {
            tick: shown(run.tick),
            term: run.term.get(),
            candidate: run.candidate.to_string(),
            began_at: timestamp(run.began_at_unix_ms),
            ended_at: end.map(|end| timestamp(end.at_unix_ms)),
            took_ms: end.map(|end| millis(end.took)),
            retries: end.map(|end| end.retries),
            outcome: end.map_or(without_end, |end| end.outcome.label()),
            reason: end.and_then(|end| end.outcome.why().map(str::to_owned)),
        }
    }

    /// The outcome, for people.
    #[must_use]
    pub fn outcome_in_words(&self) -> &'static str {
        if self.outcome == RunOutcome::NotBegun.label() { "not started, given back" } else { self.outcome }
    }
}

fn reason(why: Passed) -> &'static str {
    match why {
        Passed::Missed => "missed",
        Passed::Overlap => "overlap",
        Passed::Replaced => "replaced",
        Passed::Disabled => "disabled",
        _ => "other",
    }
}

/// Whole milliseconds.
#[must_use]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
