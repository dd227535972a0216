//! The schedule of a job as stored in the ledger.

use std::sync::Arc;

use tenure_core::jobs::{Calendar, JobReport, Tick, present_schedule};

use super::job::Job;
use super::schedule::Schedule;

/// What follows the schedule of a job that is not enabled. It is never due, and so it is due at other times than before when
/// that changes: nothing was missed meanwhile.
const DISABLED: &str = " (disabled)";

/// The schedule of a job as its last leader stored it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// use tenure::cron::{Job, Tick, WrittenSchedule};
/// use tenure::Client;
///
/// let client = Client::open("memory:")?;
/// let candidacy = client.election("reports")?.candidate().job(Job::new("nightly", "0 4 * * *")?.enabled(false), |_| ()).start()?;
/// # while client.election("reports")?.jobs(1).await?.is_empty() { tokio::task::yield_now().await; }
/// let jobs = client.election("reports")?.jobs(1).await?;
/// let written = WrittenSchedule::of(&jobs[0]);
/// assert_eq!((written.text(), written.is_enabled()), ("0 4 * * * UTC", false));
/// assert_eq!(written.next_after(Tick::from_unix_s(0)), None);
/// # candidacy.stop().await;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenSchedule {
    text: String,
    is_enabled: bool,
    is_absent: bool,
}

impl WrittenSchedule {
    /// Returns the schedule of a current or former job of an election.
    #[must_use]
    pub fn of(report: &JobReport) -> Self {
        let before = present_schedule(&report.schedule);
        let schedule = before.unwrap_or(&report.schedule);
        let enabled = schedule.strip_suffix(DISABLED);
        Self {
            text: enabled.unwrap_or(schedule).to_owned(),
            is_enabled: enabled.is_none(),
            is_absent: before.is_some(),
        }
    }

    /// Returns the expression and the time zone.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the job is enabled at its last leader.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns whether the last leader does not have the job. It does not fire until a candidate leads that has it.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.is_absent
    }

    /// Returns the next tick by the calendar.
    ///
    /// `None` for a job that is disabled or absent at its last leader, and for a stored schedule that this version cannot parse.
    #[must_use]
    pub fn next_after(&self, tick: Tick) -> Option<Tick> {
        // The expression has spaces, and the time zone has none.
        let (expression, zone) = self.text.rsplit_once(' ').filter(|_| self.is_enabled && !self.is_absent)?;
        Schedule::new(expression, zone).ok()?.next_after(tick)
    }
}

/// Returns the schedule of a job as it is stored.
pub(super) fn written(job: &Job) -> Arc<str> {
    let text = job.schedule().text();
    if job.policy().enabled { text } else { format!("{text}{DISABLED}").into() }
}
