//! A job, as the application describes it.

use std::time::Duration;

use tenure_core::JobName;
use tenure_core::jobs::{Interrupted, JobPolicy, JobSpec, Missed, Overlap, Tick};

use super::schedule::Schedule;
use super::written::written;
use super::zone;
use crate::error::Error;

/// Something to do by the calendar, once across all candidates of an election. Give it to
/// [`CandidacyBuilder::job`](crate::CandidacyBuilder::job).
///
/// ```
/// use std::time::Duration;
/// use tenure::cron::{Job, Missed, Overlap, Tick};
///
/// let job = Job::new("nightly-report", "30 4 * * MON-FRI")?
///     .time_zone("Europe/Berlin")?
///     .missed(Missed::Once)
///     .overlap(Overlap::Skip)
///     .timeout(Duration::from_secs(3600));
/// let first = job.next_ticks(Tick::from_unix_s(1_893_456_000), 2); // from 2030-01-01 00:00:00 UTC, a Tuesday
/// assert_eq!(first.map(|tick| tick.unix_s()).collect::<Vec<_>>(), [1_893_468_600, 1_893_555_000]);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a job is given to ElectionBuilder::job"]
pub struct Job {
    schedule: Schedule,
    policy: JobPolicy,
    timeout: Option<Duration>,
}

impl Job {
    /// A job that is due whenever this cron expression matches, in UTC unless [another time zone](Self::time_zone) is set.
    ///
    /// # Errors
    /// When the name breaks the rule for names, or the [expression](Schedule) cannot be understood or never comes.
    pub fn new(name: &str, expression: &str) -> Result<Self, Error> {
        Ok(Self::with_schedule(JobName::new(name)?, Schedule::new(expression, zone::DEFAULT)?))
    }

    /// A job with a schedule that was read before.
    pub fn with_schedule(name: JobName, schedule: Schedule) -> Self {
        Self { schedule, policy: JobPolicy::new(name), timeout: None }
    }

    /// The time zone the expression is meant in, such as `Europe/Berlin`. Default: UTC.
    ///
    /// # Errors
    /// When it is not known.
    pub fn time_zone(mut self, name: &str) -> Result<Self, Error> {
        self.schedule = self.schedule.in_zone(name)?;
        Ok(self)
    }

    /// What becomes of ticks at which nobody led. Default: [`Missed::Once`].
    pub fn missed(mut self, missed: Missed) -> Self {
        self.policy.missed = missed;
        self
    }

    /// How old a missed tick may be and still be wanted. Default: a day.
    pub fn window(mut self, window: Duration) -> Self {
        self.policy.window = window;
        self
    }

    /// What becomes of a tick while the last run still goes on. Default: [`Overlap::Skip`], which leaves out no tick of a job
    /// that wants [`Missed::All`].
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.policy.overlap = overlap;
        self
    }

    /// What becomes of a run whose leader was gone before it ended. Default: [`Interrupted::Leave`].
    pub fn interrupted(mut self, interrupted: Interrupted) -> Self {
        self.policy.interrupted = interrupted;
        self
    }

    /// How long a run may take, and each further attempt. Then it is [told to stop](super::JobRun::cancelled); a future that has not ended when the
    /// grace of the election's timing is over is dropped. Default: as long as the leadership lasts.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Each tick fires up to this much later, so that not all jobs of the world begin at once. By how much follows from the
    /// job's name and the tick. Default: none.
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.policy.jitter = jitter;
        self
    }

    /// By how much a tick may be late without counting as missed. Default: a second.
    pub fn max_late(mut self, max_late: Duration) -> Self {
        self.policy.max_late = max_late;
        self
    }

    /// How often a run that failed is tried again, for the same tick: after [`retry_after`](Self::retry_after), and then after
    /// twice as long each time, up to an hour. Only what returned an error or panicked is tried again. Between attempts the run
    /// still goes on: ticks follow [`overlap`](Self::overlap). When the leadership ends meanwhile, the run has failed, or is
    /// left to the next leader with [`Interrupted::Again`]. Default: never.
    pub fn retries(mut self, retries: u32) -> Self {
        self.policy.retries = retries;
        self
    }

    /// How long after its first failure a run is tried again. Default: 30 s.
    pub fn retry_after(mut self, retry_after: Duration) -> Self {
        self.policy.retry_after = retry_after;
        self
    }

    /// Whether it fires at all. The ticks of a job that is not enabled are passed over, and are not missed when it is enabled
    /// again. Default: yes.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.policy.enabled = enabled;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &JobName {
        &self.policy.job
    }

    /// When it is due.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What it wants to happen when not all goes by the calendar.
    #[must_use]
    pub fn policy(&self) -> &JobPolicy {
        &self.policy
    }

    /// How long a run may take.
    #[must_use]
    pub fn timeout_after(&self) -> Option<Duration> {
        self.timeout
    }

    /// The first ticks after this one, without jitter.
    pub fn next_ticks(&self, after: Tick, count: usize) -> impl Iterator<Item = Tick> + '_ {
        self.schedule.ticks_after(after).take(count)
    }

    /// How it is made known to an engine.
    pub(super) fn spec(&self) -> JobSpec<Schedule> {
        JobSpec {
            policy: self.policy.clone(),
            calendar: self.schedule.clone(),
            schedule: written(self),
            timeout: self.timeout,
        }
    }
}
