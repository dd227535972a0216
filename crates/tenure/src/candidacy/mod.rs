//! A running candidacy.

mod ask;
mod broadcasts;
mod builder;
mod consume;
#[cfg(feature = "cron")]
mod jobs;
mod messages;
mod plan;
mod state;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::{CandidateId, ElectionName, Input, Leader, Term};

use self::ask::Ask;
pub(crate) use self::ask::Asks;
pub use self::builder::CandidacyBuilder;
pub use self::state::{CandidacyState, StoreOutage};
use crate::client::Client;
use crate::driver::DriverCommand;
use crate::election::Election;
use crate::error::Error;
use crate::event::{ElectionError, Events, subscription};
use crate::inside;
use crate::leadership::Leadership;
use crate::phase::Phase;
use crate::shared::Shared;

/// One candidate in one election, from [`CandidacyBuilder::start`] to [`stop`](Self::stop).
///
/// Dropping it leaves the election in the background: work is told to stop, and the lease is released when it has. A
/// process that exits right away may not get that far; call [`stop`](Self::stop) to wait for it.
///
/// A child process made by `fork` never leads, whatever its parent does.
///
/// # How long stopping takes
///
/// The time is bounded, whatever the store does. It depends on what is still held under the leadership: [`Work`], a
/// [`Delivery`], a callback or a handler that has not returned, a run of a job.
///
/// - When all of it ends within the [grace](crate::Timing::grace), the lease is released at once and the next candidate may
///   lead. This takes at most the grace, the [reaction bound](crate::Timing::reaction) and three
///   [attempts](crate::Timing::attempt_timeout).
/// - **What is still held after the grace keeps the lease from being released**: futures that this library runs are dropped
///   then, but nothing can end the application's own. The lease is released as soon as the last of it ends. If that does
///   not happen while the lease can be trusted, the lease is left to lapse, and
///   [reported](crate::Anomaly::StuckWork). This takes up to the [hold](crate::Timing::hold), about 0.8 of the ttl, and
///   the next leader comes when the lease ends in the store.
///
/// So let go in time: wait for [`Leadership::cancelled`] beside whatever else the work waits for.
///
/// [`Work`]: crate::Work
/// [`Delivery`]: crate::Delivery
#[derive(Debug)]
pub struct Candidacy {
    shared: Arc<Shared>,
    client: Client,
    health_within: Option<Duration>,
    heartbeat_at: AtomicU64,
    /// Its jobs, if it has had any.
    #[cfg(feature = "cron")]
    job_set: std::sync::Mutex<Option<Arc<crate::cron::JobSet>>>,
}

impl Candidacy {
    pub(crate) fn new(shared: Arc<Shared>, client: Client, health_within: Option<Duration>) -> Self {
        Self {
            shared,
            client,
            health_within,
            heartbeat_at: AtomicU64::new(0),
            #[cfg(feature = "cron")]
            job_set: std::sync::Mutex::default(),
        }
    }

    /// Returns whether this candidate leads and may begin work at this instant.
    ///
    /// The clock is asked on every call, so the answer is right even when the process was paused, swapped out or
    /// suspended since the last one. It costs about as much as reading the clock and takes no lock, so it may be called
    /// in a tight loop from any number of threads.
    #[inline]
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.shared.is_leader()
    }

    /// Returns the current leadership, if this candidate leads.
    #[must_use]
    pub fn leadership(&self) -> Option<Leadership> {
        // Asked first: in a forked child nothing else may be touched.
        if !self.is_leader() {
            return None;
        }
        self.shared.phase().read(|phase| self.leadership_in(phase))
    }

    /// Returns the candidate's id.
    #[must_use]
    pub fn candidate(&self) -> &CandidateId {
        &self.shared.candidate
    }

    /// Returns the name of the election.
    #[must_use]
    pub fn name(&self) -> &ElectionName {
        &self.shared.key.name
    }

    /// Asks the store for the current leader. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn current_leader(&self) -> Result<Option<Leader>, Error> {
        let observation = Election::new(self.client.clone(), self.name().clone()).observe().await?;
        Ok(observation.lease.map(|lease| lease.leader))
    }

    /// Subscribes to all further events, beginning with the current leader if one is known.
    #[must_use]
    pub fn events(&self) -> Events {
        let (subscriber, events) = subscription();
        self.shared.send(DriverCommand::Subscribe(self.shared.id, subscriber));
        events
    }

    /// Waits until this candidate leads, and lets it stand again if it has [paused](crate::CandidacyState::Paused).
    ///
    /// The leadership is kept until it is lost or [resigned](Self::resign). The clock is checked last, so that a process that
    /// was paused does not get a leadership that is over. Cancel safe.
    ///
    /// # Errors
    /// When the candidacy is stopped.
    pub async fn elected(&self) -> Result<Leadership, Error> {
        if !self.shared.is_same_process() {
            return Err(Error::Stopped);
        }
        let decided = |phase: &Phase| match phase {
            Phase::Stopped => Some(None),
            // The clock decides. When the time of a leadership is over, its phase is about to change, or it is being renewed.
            Phase::Standing | Phase::Leading(_) | Phase::Leaving { .. } if !self.is_leader() => None,
            Phase::Standing | Phase::Leading(_) | Phase::Leaving { .. } => self.leadership_in(phase).map(Some),
        };
        let ask = Ask::to_wait(&self.shared);
        let leadership = self.shared.phase().wait_for(decided).await.ok_or(Error::Stopped)?;
        ask.fulfilled();
        Ok(leadership)
    }

    /// Hands over: stops the work, waits for it, and releases the lease, reserved for the candidate that has stood by longest.
    ///
    /// This candidate goes on standing, and campaigns again after a moment. Completes when the lease is released or left to
    /// lapse, which takes [as long as a stop](Self#how-long-stopping-takes). Dropping the future does not cancel the
    /// resignation.
    ///
    /// # Errors
    /// When this candidate does not lead; [`Error::WaitsForItself`] inside a callback, a handler or work of this candidacy,
    /// whose end the resignation waits for: it has begun then, and [`request_resign`](Self::request_resign) does the same.
    pub async fn resign(&self) -> Result<(), Error> {
        self.hand_over(None).await
    }

    /// Hands over to the candidate with this id: for a moment no other can be granted the lease.
    ///
    /// Nobody checks that there is such a candidate: if it does not campaign within a second, another one may lead.
    ///
    /// Completes when the lease is released or left to lapse, which takes
    /// [as long as a stop](Self#how-long-stopping-takes). Dropping the future does not cancel the resignation.
    ///
    /// # Errors
    /// When the id breaks the rule for names, or this candidate does not lead; [`Error::WaitsForItself`] inside a callback, a
    /// handler or work of this candidacy, whose end the resignation waits for: it has begun then, and
    /// [`request_resign`](Self::request_resign) does the same.
    pub async fn resign_to(&self, successor: impl TryInto<CandidateId, Error: Into<Error>>) -> Result<(), Error> {
        self.hand_over(Some(successor.try_into().map_err(Into::into)?)).await
    }

    /// Leaves the election: stops the work, waits for it, and releases the lease.
    ///
    /// Safe to call more than once. Dropping the future does not cancel it.
    ///
    /// [How long it takes](Self#how-long-stopping-takes) is bounded, and depends on the work.
    ///
    /// Inside a callback, a handler or work of this very candidacy it would wait for itself: there it begins to leave, returns
    /// at once, and [reports that](crate::ElectionError::WaitsForItself). Use [`request_stop`](Self::request_stop) there.
    pub async fn stop(&self) {
        if !self.shared.is_same_process() {
            return;
        }
        self.request_stop();
        if inside::is_inside(&self.shared) {
            self.shared.report(ElectionError::WaitsForItself { verb: "stop" });
            return;
        }
        self.shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)).await;
    }

    /// Starts to [`resign`](Self::resign) without waiting for it. Does nothing unless this candidate leads.
    pub fn request_resign(&self) {
        self.shared.send(DriverCommand::Input(self.shared.id, Input::Resign { term: None, successor: None }));
    }

    /// Starts to [`stop`](Self::stop) without waiting for it; [`EventKind::Stopped`](crate::EventKind::Stopped) marks the end.
    pub fn request_stop(&self) {
        self.shared.send(DriverCommand::Input(self.shared.id, Input::Stop));
    }

    /// Reports that the application is healthy.
    ///
    /// With a [required heartbeat](CandidacyBuilder::require_heartbeat) it must be called at least as often as required; without
    /// one it undoes an earlier `set_health(false)`. It is cheap enough to be called on every turn of a loop.
    pub fn heartbeat(&self) {
        let now = self.shared.clock.now().as_nanos();
        // Saying again what is known would only keep the driver busy; without a gate it stays known.
        let enough = self.health_within.and_then(|within| u64::try_from(within.as_nanos() / 8).ok());
        let heartbeat_at = self.heartbeat_at.load(Ordering::Relaxed);
        if heartbeat_at == 0 || now.saturating_sub(heartbeat_at) >= enough.unwrap_or(u64::MAX) {
            self.set_health(true);
        }
    }

    /// Reports whether the application is healthy. While it is not, the candidate resigns and does not campaign:
    /// it is [unhealthy](crate::CandidacyState::Unhealthy).
    pub fn set_health(&self, healthy: bool) {
        let heartbeat_at = if healthy { self.shared.clock.now().as_nanos() } else { 0 };
        self.heartbeat_at.store(heartbeat_at, Ordering::Relaxed);
        self.shared.send(DriverCommand::Input(self.shared.id, Input::Health { healthy }));
    }

    async fn hand_over(&self, successor: Option<CandidateId>) -> Result<(), Error> {
        let Some(term) = self.leadership().map(|leadership| leadership.term()) else { return Err(Error::NotLeading) };
        self.shared.send(DriverCommand::Input(self.shared.id, Input::Resign { term: Some(term), successor }));
        match self.released(term).await {
            Err(Error::WaitsForItself) => Err(Error::WaitsForItself),
            // Released, left to lapse, or left with the election.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits until the lease of this term is released or left to lapse.
    async fn released(&self, term: Term) -> Result<(), Error> {
        if inside::is_inside(&self.shared) {
            return Err(Error::WaitsForItself);
        }
        let over = |phase: &Phase| match phase {
            Phase::Leading(grant) => (grant.term != term).then_some(Ok(())),
            Phase::Leaving { lapsed, .. } => lapsed.then_some(Ok(())),
            Phase::Standing => Some(Ok(())),
            Phase::Stopped => Some(Err(Error::Stopped)),
        };
        self.shared.phase().wait_for(over).await
    }

    fn leadership_in(&self, phase: &Phase) -> Option<Leadership> {
        match phase {
            Phase::Leading(grant) => Some(Leadership::new(Arc::clone(&self.shared), Arc::clone(grant))),
            Phase::Standing | Phase::Leaving { .. } | Phase::Stopped => None,
        }
    }
}

impl Drop for Candidacy {
    fn drop(&mut self) {
        self.request_stop();
    }
}
