//! What a job may say besides when it is due and what it runs.

use std::time::Duration;

use tenure::cron::{Interrupted, Job, Missed, Overlap};

/// The settings of a job; what is not set stays as the library has it.
#[derive(Debug, Clone, Copy, Default)]
pub struct JobSettings {
    /// What becomes of missed ticks.
    pub missed: Option<Missed>,
    /// How old a missed tick may be.
    pub window: Option<Duration>,
    /// What becomes of ticks during a run.
    pub overlap: Option<Overlap>,
    /// What becomes of runs that were cut off.
    pub interrupted: Option<Interrupted>,
    /// How long a run may take.
    pub timeout: Option<Duration>,
    /// Up to how much later it fires.
    pub jitter: Option<Duration>,
    /// How often a run that failed is tried again.
    pub retries: Option<u32>,
    /// How long after its first failure.
    pub retry_after: Option<Duration>,
    /// Whether it fires at all.
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
