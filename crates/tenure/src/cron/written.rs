//! The schedule of a job as its leader writes it into the ledger, and as others read it there.

use std::sync::Arc;

use tenure_core::jobs::{Calendar, JobReport, Tick};

use super::job::Job;
use super::schedule::Schedule;

/// What follows the schedule of a job that is not enabled. It is never due, and so it is due at other times than before when
/// that changes: nothing was missed meanwhile.
const DISABLED: &str = " (disabled)";

/// When a job is due, as its last leader wrote it down.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// use tenure::cron::{Job, Tick, WrittenSchedule};
/// use tenure::Client;
///
/// let client = Client::open("memory:")?;
/// let election = client.election("reports")?.candidate().job(Job::new("nightly", "0 4 * * *")?.enabled(false), |_| ()).start()?;
/// # while client.election("reports")?.jobs(1).await?.is_empty() { tokio::task::yield_now().await; }
/// let jobs = client.election("reports")?.jobs(1).await?;
/// let written = WrittenSchedule::of(&jobs[0]);
/// assert_eq!((written.text(), written.is_enabled()), ("0 4 * * * UTC", false));
/// assert_eq!(written.next_after(Tick::from_unix_s(0)), None);
/// # election.stop().await;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenSchedule {
    text: String,
    is_enabled: bool,
}

impl WrittenSchedule {
    /// The schedule of a job that an election has or had.
    #[must_use]
    pub fn of(report: &JobReport) -> Self {
        let enabled = report.schedule.strip_suffix(DISABLED);
        Self { text: enabled.unwrap_or(&report.schedule).to_owned(), is_enabled: enabled.is_none() }
    }

    /// Expression and time zone.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its last leader let it fire at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Its next tick by the calendar; none for a job that is not enabled, and none if this version does not understand what
    /// was written.
    #[must_use]
    pub fn next_after(&self, tick: Tick) -> Option<Tick> {
        // The expression has spaces, and the time zone has none.
        let (expression, zone) = self.text.rsplit_once(' ').filter(|_| self.is_enabled)?;
        Schedule::new(expression, zone).ok()?.next_after(tick)
    }
}

/// What is written down of the schedule of a job.
pub(super) fn written(job: &Job) -> Arc<str> {
    let text = job.schedule().text();
    if job.policy().enabled { text } else { format!("{text}{DISABLED}").into() }
}
