//! The optional settings of a job.

use std::time::Duration;

use tenure::cron::{Interrupted, Job, Missed, Overlap};

/// The settings of a job; unset ones have the defaults of the library.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobSettings {
    /// What becomes of missed ticks.
    pub missed: Option<Missed>,
    /// The maximum age of a missed tick.
    pub window: Option<Duration>,
    /// What becomes of ticks during a run.
    pub overlap: Option<Overlap>,
    /// What becomes of runs that were cut off.
    pub interrupted: Option<Interrupted>,
    /// The time limit of a run.
    pub timeout: Option<Duration>,
    /// The maximum delay of a tick.
    pub jitter: Option<Duration>,
    /// The number of retries of a failed run.
    pub retries: Option<u32>,
    /// The delay before the first retry.
    pub retry_after: Option<Duration>,
    /// Whether the job is enabled.
    pub enabled: Option<bool>,
}

impl JobSettings {
    /// The job with these settings.
    pub fn apply(self, job: Job) -> Job {
        let job = set(job, self.missed, Job::missed);
        let job = set(job, self.window, Job::window);
        let job = set(job, self.overlap, Job::overlap);
        let job = set(job, self.interrupted, Job::interrupted);
        let job = set(job, self.timeout, Job::timeout);
        let job = set(job, self.jitter, Job::jitter);
        let job = set(job, self.retries, Job::retries);
        let job = set(job, self.retry_after, Job::retry_after);
        set(job, self.enabled, Job::enabled)
    }
}

fn set<T>(job: Job, value: Option<T>, set: impl FnOnce(Job, T) -> Job) -> Job {
    match value {
        Some(value) => set(job, value),
        None => job,
    }
}
