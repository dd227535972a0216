//! The builder of a candidacy.

use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use tenure_core::{CandidateId, ElectionName, LossReason, Preset, Priority, Term, Timing};

use super::Candidacy;
use super::plan::CandidacyPlan;
use crate::callback::{Callback, CallbackResult};
use crate::client::Client;
use crate::error::Error;
use crate::event::{ElectionError, Events, subscription};
use crate::leadership::Leadership;
use crate::metrics::CandidacyPurpose;

/// A builder of a [`Candidacy`]. Made by [`Election::candidate`](crate::Election::candidate).
///
/// ```
/// use std::time::Duration;
/// use tenure::{Preset, blocking::Client};
///
/// let client = Client::open("memory:")?;
/// let candidacy = client
///     .election("nightly-report")?
///     .candidate()
///     .id("worker-7")
///     .priority(5)
///     .metadata("zone", "eu-1")
///     .preset(Preset::Fast)
///     .on_elected(|leadership| println!("elected: term {}", leadership.term()))
///     .on_lost(|term, reason| println!("lost term {term}: {reason}"))
///     .start()?;
/// # candidacy.stop();
/// # Ok::<(), tenure::Error>(())
/// ```
#[must_use = "a candidacy begins with start()"]
pub struct CandidacyBuilder<C = Candidacy> {
    pub(super) plan: CandidacyPlan,
    starts: PhantomData<fn() -> C>,
}

impl<C> CandidacyBuilder<C> {
    pub(crate) fn new(client: Client, name: ElectionName) -> Self {
        Self { plan: CandidacyPlan::new(client, name), starts: PhantomData }
    }

    /// Converts it into a builder of the async or the blocking candidacy.
    pub(crate) fn starting<D>(self) -> CandidacyBuilder<D> {
        CandidacyBuilder { plan: self.plan, starts: PhantomData }
    }

    /// Sets the candidate's id, such as `"worker-7"` or a [`CandidateId`]. Default: host name, process id and a random suffix.
    ///
    /// [`start`](Self::start) fails when it breaks the rule for names.
    pub fn id(mut self, id: impl TryInto<CandidateId, Error: Into<Error>>) -> Self {
        self.plan.candidate = id.try_into().map(Some).map_err(Into::into);
        self
    }

    /// Sets all durations. Default: [`Preset::Normal`].
    pub fn timing(mut self, timing: Timing) -> Self {
        self.plan.timing = Ok(timing);
        self
    }

    /// Sets all durations by the name of a preset.
    pub fn preset(self, preset: Preset) -> Self {
        self.timing(preset.timing())
    }

    /// Sets how long the store keeps a lease that is not renewed; all other durations are [derived](Timing::from_ttl) from it.
    ///
    /// A longer ttl survives longer outages of the store, and leaves the election without a leader for longer after a crash.
    ///
    /// [`start`](Self::start) fails when it is outside of [`Timing::MIN_TTL`] to [`Timing::MAX_TTL`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let client = tenure::blocking::Client::open("memory:")?;
    /// let candidacy = client.election("nightly-report")?.candidate().ttl(Duration::from_secs(30)).start()?;
    /// # candidacy.stop();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.plan.timing = Timing::from_ttl(ttl);
        self
    }

    /// Sets the priority, 0-10; lower ones wait longer before campaigning. Default: the highest.
    ///
    /// [`start`](Self::start) fails when it is out of range.
    pub fn priority(mut self, priority: impl TryInto<Priority, Error: Into<Error>>) -> Self {
        self.plan.priority = priority.try_into().map_err(Into::into);
        self
    }

    /// Publishes a key and a value about the candidate, for all to read while it leads.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.plan.metadata.insert(key.into(), value.into());
        self
    }

    /// Requires [`Candidacy::heartbeat`] to be called at least this often, or the candidate resigns and does not campaign.
    ///
    /// This guards against an application that hangs while its lease is renewed. [`start`](Self::start) fails when it is zero.
    pub fn require_heartbeat(mut self, within: Duration) -> Self {
        self.plan.health_within = Some(within);
        self
    }

    /// Marks this candidacy as one for a lock, whose leader leaves when its work is done, so that most of the time nobody leads.
    ///
    /// Metrics distinguish it from elections. [`Client::lock`] does this by itself.
    pub fn as_lock(mut self) -> Self {
        self.plan.purpose = CandidacyPurpose::Lock;
        self
    }

    /// Keeps this candidate out of the line: nothing is reserved for it, and it is granted only a lease that is free at once.
    ///
    /// For candidates that ask once and leave; [`Lock::try_acquire`](crate::Lock::try_acquire) does this by itself.
    pub fn without_standing_by(mut self) -> Self {
        self.plan.stands_by = false;
        self
    }

    /// Sets the callback for the start of leadership. A panic or an error in it is reported and changes nothing else.
    pub fn on_elected<R: CallbackResult>(mut self, callback: impl Fn(Leadership) -> R + Send + Sync + 'static) -> Self {
        self.plan.callbacks.elected = Some(Callback::sync(callback));
        self
    }

    /// Sets an async callback for the start of leadership; its future runs on the runtime `start` was called on, if any.
    pub fn on_elected_async<F>(mut self, callback: impl Fn(Leadership) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.plan.callbacks.elected = Some(Callback::future(callback));
        self
    }

    /// Sets the callback for the end of leadership, to stop what was started under it.
    ///
    /// The lease is not released before it has returned: [how long that may take](Candidacy#how-long-stopping-takes).
    pub fn on_lost<R: CallbackResult>(
        mut self,
        callback: impl Fn(Term, LossReason) -> R + Send + Sync + 'static,
    ) -> Self {
        self.plan.callbacks.lost = Some(Callback::sync(move |(term, reason)| callback(term, reason)));
        self
    }

    /// Sets an async callback for the end of leadership; its future runs on the runtime `start` was called on, if any.
    pub fn on_lost_async<F>(mut self, callback: impl Fn(Term, LossReason) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.plan.callbacks.lost = Some(Callback::future(move |(term, reason)| callback(term, reason)));
        self
    }

    /// Sets the callback for errors. The candidacy goes on after them.
    pub fn on_error<R: CallbackResult>(
        mut self,
        callback: impl Fn(ElectionError) -> R + Send + Sync + 'static,
    ) -> Self {
        self.plan.callbacks.error = Some(Callback::sync(callback));
        self
    }

    /// Sets an async callback for errors; its future runs on the runtime `start` was called on, if any.
    pub fn on_error_async<F>(mut self, callback: impl Fn(ElectionError) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.plan.callbacks.error = Some(Callback::future(callback));
        self
    }

    /// Starts the candidacy. Returns at once, without waiting to be elected.
    ///
    /// # Errors
    /// When a name or a number that the builder was given is invalid, the ttl is too short for the store, the metadata are
    /// too large, the store lacks a feature (a mailbox for messages, pub/sub for broadcasts, a ledger for jobs), two
    /// jobs have the same name, two handlers are for the same channel, or the driver is gone.
    pub fn start(self) -> Result<C, Error>
    where
        C: From<Candidacy>,
    {
        self.plan.start(None).map(C::from)
    }

    pub(crate) fn name(&self) -> &ElectionName {
        &self.plan.name
    }

    /// How long the first campaign may take until it is answered or given up: it may have to wait for one that is under
    /// way.
    pub(crate) fn first_answer_within(&self) -> Result<Duration, Error> {
        Ok(self.plan.priority.clone()?.delay() + self.plan.timing.clone()?.attempt_timeout() * 2)
    }
}

impl CandidacyBuilder {
    /// Starts the candidacy and returns it with its events, from the first campaign on.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_events(self) -> Result<(Candidacy, Events), Error> {
        let (subscriber, events) = subscription();
        Ok((self.plan.start(Some(subscriber))?, events))
    }
}

impl<C> Clone for CandidacyBuilder<C> {
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), starts: PhantomData }
    }
}

impl<C> std::fmt::Debug for CandidacyBuilder<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CandidacyBuilder").field("name", self.name()).finish_non_exhaustive()
    }
}
