//! One run of a job, on the application's side.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use tenure_core::jobs::{JobAttempt, RunOutcome, Tick};
use tenure_core::{JobName, Term};
use tokio_util::sync::CancellationToken;

use crate::block_on::{block_on, block_on_for};
use crate::callback::{Callback, CallbackOutcome};
use crate::contain::contain;
use crate::inside;
use crate::leadership::Leadership;
use tenure_core::storable;

/// One run of a job for a tick, under the leadership that has claimed it.
///
/// A resignation [waits for the run to end](crate::Candidacy#how-long-stopping-takes). Clones are of the same run.
#[derive(Debug, Clone)]
pub struct JobRun(Arc<RunDetails>);

#[derive(Debug)]
struct RunDetails {
    attempt: JobAttempt,
    leadership: Leadership,
    limit: RunLimit,
    is_given_back: AtomicBool,
}

/// Tells a run that it has exceeded its timeout.
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

    /// Returns the name of the job.
    #[must_use]
    pub fn job(&self) -> &JobName {
        &self.0.attempt.job
    }

    /// Returns the tick: the time at which the run was due by the calendar.
    ///
    /// Together with the job it identifies the run for ever, and so can serve as an idempotency key.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.0.attempt.tick
    }

    /// Returns the term that the run belongs to: the fencing token.
    #[must_use]
    pub fn term(&self) -> Term {
        self.0.leadership.term()
    }

    /// Returns the leadership that the run belongs to.
    #[must_use]
    pub fn leadership(&self) -> &Leadership {
        &self.0.leadership
    }

    /// Returns whether the run is later than the job allows: nobody led when it was due, or the previous run took long.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.0.attempt.late.is_some()
    }

    /// Returns how late the run was when it was claimed, if that is more than the job allows.
    #[must_use]
    pub fn late_by(&self) -> Option<Duration> {
        self.0.attempt.late
    }

    /// Returns how many earlier ticks were missed and are passed over with this one.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.0.attempt.missed
    }

    /// Returns how often this run has already failed under this leadership; see [`Job::retries`](super::Job::retries).
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.0.attempt.retries
    }

    /// Returns whether an earlier leader began this run and was gone before it ended; see
    /// [`Interrupted::Again`](super::Interrupted::Again).
    #[must_use]
    pub fn is_again(&self) -> bool {
        self.0.attempt.again
    }

    /// Returns whether the run has to stop, because the leadership ended or the timeout is over. Every call asks the clock.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_past_limit() || self.0.leadership.is_cancelled()
    }

    /// Waits until the run has to stop. Cancel safe.
    ///
    /// A handler that stops early should return an error, so that the run does not count as a success.
    pub async fn cancelled(&self) {
        select(pin!(self.0.leadership.cancelled()), pin!(self.0.limit.passed.cancelled())).await;
    }

    /// Blocks this thread until the run has to stop.
    pub fn wait_cancelled(&self) {
        block_on(self.cancelled());
    }

    /// Blocks this thread for at most `limit`, and returns whether the run has to stop.
    #[must_use]
    pub fn wait_cancelled_for(&self, limit: Duration) -> bool {
        block_on_for(self.cancelled(), limit).is_some()
    }

    /// Declares that nothing of this run was begun, and nothing will be, so that a later leader may run the tick.
    ///
    /// The tick then follows the job's policy for missed ones. For handlers that only pass the work on, and find that it is too
    /// late for that; whatever such a handler returns, the run counts as [never begun](super::RunOutcome::NotBegun).
    ///
    /// Call it only if surely nothing was done: otherwise the tick would be run twice.
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
