//! One run of a job, on the application's side.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use tenure_core::jobs::{JobAttempt, RunOutcome, Tick};
use tenure_core::{JobName, Term};
use tokio_util::sync::CancellationToken;

use crate::blocking::{block_on, block_on_for};
use crate::callback::{Callback, CallbackOutcome};
use crate::contain::contain;
use crate::inside;
use crate::leadership::Leadership;
use crate::reason::storable;

/// A tick of a job that is to be run now, under the leadership that has claimed it. A resignation waits for the run to end,
/// for at most the grace.
///
/// Clones speak of the same run.
#[derive(Debug, Clone)]
pub struct JobRun(Arc<RunDetails>);

#[derive(Debug)]
struct RunDetails {
    attempt: JobAttempt,
    leadership: Leadership,
    limit: RunLimit,
    is_given_back: AtomicBool,
}

/// How a run is told that it has taken too long.
#[derive(Debug, Clone, Default)]
pub(super) struct RunLimit {
    /// It has to stop.
    pub(super) passed: CancellationToken,
    /// It has had the time to.
    pub(super) overdue: CancellationToken,
}

impl JobRun {
    pub(super) fn new(attempt: JobAttempt, leadership: Leadership, limit: RunLimit) -> Self {
        let is_given_back = AtomicBool::new(false);
        Self(Arc::new(RunDetails { attempt, leadership, limit, is_given_back }))
    }

    /// Which job.
    #[must_use]
    pub fn job(&self) -> &JobName {
        &self.0.attempt.job
    }

    /// For which tick: when it was due by the calendar. Together with the job it identifies the run for ever, so it can be
    /// given to whatever must not do a thing twice.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.0.attempt.tick
    }

    /// The term it runs under: the fencing token.
    #[must_use]
    pub fn term(&self) -> Term {
        self.0.leadership.term()
    }

    /// The leadership it runs under.
    #[must_use]
    pub fn leadership(&self) -> &Leadership {
        &self.0.leadership
    }

    /// Whether it is later than the job puts up with: nobody led when it was due, or the run before took long.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.0.attempt.late.is_some()
    }

    /// By how much it was late when it was claimed, if that is more than the job puts up with.
    #[must_use]
    pub fn late_by(&self) -> Option<Duration> {
        self.0.attempt.late
    }

    /// How many ticks before it were missed, and are passed over with it.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.0.attempt.missed
    }

    /// How often this run was tried before, under this leadership, and failed: [`Job::retries`](super::Job::retries).
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.0.attempt.retries
    }

    /// Whether an earlier leader has begun this run, and was gone before it ended:
    /// [`Interrupted::Again`](super::Interrupted::Again).
    #[must_use]
    pub fn is_again(&self) -> bool {
        self.0.attempt.again
    }

    /// Whether it has to stop, or had to: because the leadership ended, or because it took too long. The clock is asked on
    /// every call.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_past_limit() || self.0.leadership.is_cancelled()
    }

    /// Completes when it has to stop. Cancel safe.
    ///
    /// What stops early returns an error, so that the run does not count as a success.
    pub async fn cancelled(&self) {
        select(pin!(self.0.leadership.cancelled()), pin!(self.0.limit.passed.cancelled())).await;
    }

    /// Waits on this thread until it has to stop.
    pub fn wait_cancelled(&self) {
        block_on(self.cancelled());
    }

    /// Waits on this thread for at most `limit`. Returns whether it has to stop.
    #[must_use]
    pub fn wait_cancelled_for(&self, limit: Duration) -> bool {
        block_on_for(self.cancelled(), limit).is_some()
    }

    /// Says that nothing of this run was begun, and nothing will be: a later leader may run the tick, if its job wants ticks
    /// that were missed. For handlers that only hand the work on, and find that it is too late for that; whatever such a
    /// handler returns, the run counts as [never begun](super::RunOutcome::NotBegun).
    ///
    /// Whoever is not sure that nothing was done must not say it: the tick would be run twice.
    pub fn give_back(&self) {
        self.0.is_given_back.store(true, Ordering::Release);
    }

    /// Runs the handler to its end on this thread.
    pub(super) fn perform(&self, handler: &Callback<Self>, runtime: Option<&tokio::runtime::Handle>) -> RunOutcome {
        // The process may have been paused since the tick was claimed.
        if self.0.leadership.is_cancelled() {
            return RunOutcome::NotBegun;
        }
        let finish = || match handler.call(self.clone()) {
            CallbackOutcome::Now(failure) => Some(failure),
            CallbackOutcome::Later(future) => match runtime {
                Some(runtime) => runtime.block_on(self.while_allowed(future)),
                None => block_on(self.while_allowed(future)),
            },
        };
        let ended = {
            let _inside = inside::enter(self.0.leadership.shared());
            contain(finish)
        };
        let failure = match ended {
            _ if self.0.is_given_back.load(Ordering::Acquire) => return RunOutcome::NotBegun,
            _ if self.is_past_limit() => return RunOutcome::TimedOut,
            Ok(Some(None)) => return RunOutcome::Succeeded,
            // Whether it failed because it was told to stop, nobody knows.
            _ if self.0.leadership.is_cancelled() => return RunOutcome::Cancelled,
            Ok(None) => return RunOutcome::Cancelled,
            Ok(Some(Some(failure))) => format!("failed: {failure}"),
            Err(panic) => format!("panicked: {panic}"),
        };
        RunOutcome::Failed { why: storable(&failure) }
    }

    /// Runs a future until it is done or its time is over.
    async fn while_allowed<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let (left, late) = (pin!(self.0.leadership.overdue()), pin!(self.0.limit.overdue.cancelled()));
        match select(pin!(future), select(left, late)).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }

    fn is_past_limit(&self) -> bool {
        self.0.limit.passed.is_cancelled()
    }
}
