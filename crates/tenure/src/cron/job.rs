//! The description of a job.

use std::time::Duration;

use tenure_core::JobName;
use tenure_core::jobs::{Interrupted, JobPolicy, JobSpec, Missed, Overlap, Tick};

use super::schedule::Schedule;
use super::written::written;
use super::zone;
use crate::error::Error;

/// A job by the calendar that runs once across all candidates of an election.
///
/// Pass it to [`CandidacyBuilder::job`](crate::CandidacyBuilder::job).
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
#[must_use = "a job is given to CandidacyBuilder::job"]
pub struct Job {
    schedule: Schedule,
    policy: JobPolicy,
    timeout: Option<Duration>,
}

impl Job {
    /// Creates a job that is due whenever the cron expression matches, in UTC unless [another time zone](Self::time_zone) is set.
    ///
    /// # Errors
    /// When the name breaks the rule for names, or the [expression](Schedule) is invalid or never matches.
    pub fn new(name: &str, expression: &str) -> Result<Self, Error> {
        Ok(Self::with_schedule(JobName::new(name)?, Schedule::new(expression, zone::DEFAULT)?))
    }

    /// Creates a job with a schedule.
    pub fn with_schedule(name: JobName, schedule: Schedule) -> Self {
        Self { schedule, policy: JobPolicy::new(name), timeout: None }
    }

    /// Sets the time zone of the expression, such as `Europe/Berlin`. Default: UTC.
    ///
    /// # Errors
    /// When the time zone is unknown.
    pub fn time_zone(mut self, name: &str) -> Result<Self, Error> {
        self.schedule = self.schedule.in_zone(name)?;
        Ok(self)
    }

    /// Sets the policy for ticks at which nobody led. Default: [`Missed::Once`].
    pub fn missed(mut self, missed: Missed) -> Self {
        self.policy.missed = missed;
        self
    }

    /// Sets the maximum age of a missed tick that is still run. Default: a day.
    pub fn window(mut self, window: Duration) -> Self {
        self.policy.window = window;
        self
    }

    /// Sets the policy for a tick that comes due during the previous run. Default: [`Overlap::Skip`].
    ///
    /// A job with [`Missed::All`] skips no tick even so.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.policy.overlap = overlap;
        self
    }

    /// Sets the policy for a run whose leader was gone before it ended. Default: [`Interrupted::Leave`].
    pub fn interrupted(mut self, interrupted: Interrupted) -> Self {
        self.policy.interrupted = interrupted;
        self
    }

    /// Sets the timeout of a run, and of each further attempt. Default: as long as the leadership lasts.
    ///
    /// After it the run is [told to stop](super::JobRun::cancelled); a future that has not ended when the grace of the
    /// election's timing is over is dropped. A candidacy with a job whose timeout is zero does not start.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Delays each tick by up to this much, so that many jobs do not begin at once. Default: none.
    ///
    /// The delay follows from the job's name and the tick.
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.policy.jitter = jitter;
        self
    }

    /// Sets how late a tick may be without counting as missed. Default: a second.
    pub fn max_late(mut self, max_late: Duration) -> Self {
        self.policy.max_late = max_late;
        self
    }

    /// Sets how often a failed run is retried for the same tick. Default: never.
    ///
    /// The first retry comes after [`retry_after`](Self::retry_after), each further one after twice as long, up to an hour. Only
    /// a run that returned an error or panicked is retried. Between attempts the run still goes on: ticks follow
    /// [`overlap`](Self::overlap). When the leadership ends meanwhile, the run has failed, or is left to the next leader with
    /// [`Interrupted::Again`].
    pub fn retries(mut self, retries: u32) -> Self {
        self.policy.retries = retries;
        self
    }

    /// Sets the delay of the first retry of a failed run. Default: 30 s.
    pub fn retry_after(mut self, retry_after: Duration) -> Self {
        self.policy.retry_after = retry_after;
        self
    }

    /// Sets whether the job fires at all. Default: yes.
    ///
    /// The ticks of a disabled job are passed over, and do not count as missed when it is enabled again.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.policy.enabled = enabled;
        self
    }

    /// Returns the name of the job.
    #[must_use]
    pub fn name(&self) -> &JobName {
        &self.policy.job
    }

    /// Returns the schedule of the job.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the policies for missed ticks, overlaps, interruptions and retries.
    #[must_use]
    pub fn policy(&self) -> &JobPolicy {
        &self.policy
    }

    /// Returns the timeout of a run, if it has one.
    #[must_use]
    pub fn timeout_after(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the first ticks after this one, without jitter.
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
