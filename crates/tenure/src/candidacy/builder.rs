//! Describing a candidacy.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tenure_core::{
    Candidate, CandidateId, ChannelName, ElectionName, Elector, LossReason, Metadata, Preset, Priority, Term, Timing,
    TimingError,
};

use super::Candidacy;
use super::broadcasts;
use super::messages::handlers;
use crate::callback::{Callback, CallbackResult, CallbackRunner, Callbacks};
use crate::client::Client;
use crate::driver::{DrivenCandidacy, DriverCommand};
use crate::error::Error;
use crate::event::{ElectionError, Events, Subscriber, subscription};
use crate::identity::default_candidate_id;
use crate::leadership::Leadership;
use crate::metrics::CandidacyPurpose;
use crate::shared::Shared;
use crate::store::{Broadcast, Message};

/// A candidacy that has not begun. Made by [`Election::candidate`](crate::Election::candidate).
///
/// ```
/// use std::time::Duration;
/// use tenure::{CandidateId, Preset, Client};
///
/// let client = Client::open("memory:")?;
/// let election = client
///     .election("nightly-report")?
///     .candidate()
///     .id(CandidateId::new("worker-7")?)
///     .metadata("zone", "eu-1")
///     .preset(Preset::Fast)
///     .on_elected(|leadership| println!("elected: term {}", leadership.term()))
///     .on_lost(|(term, reason)| println!("lost term {term}: {}", reason.as_str()))
///     .start()?;
/// # election.stop_blocking();
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a candidacy begins with start()"]
pub struct CandidacyBuilder {
    client: Client,
    name: ElectionName,
    candidate: Option<CandidateId>,
    /// What is wrong with it is reported at the start.
    timing: Result<Timing, TimingError>,
    priority: Priority,
    metadata: BTreeMap<String, String>,
    health_within: Option<Duration>,
    purpose: CandidacyPurpose,
    stands_by: bool,
    callbacks: Callbacks,
    pub(super) handlers: BTreeMap<ChannelName, Callback<(Message, Leadership)>>,
    pub(super) max_attempts: u32,
    pub(super) broadcast_handlers: BTreeMap<ChannelName, Callback<Broadcast>>,
    #[cfg(feature = "cron")]
    pub(super) jobs: Vec<(crate::cron::Job, Callback<crate::cron::JobRun>)>,
}

/// Enough to get over a restart of whatever the handler needs, and few enough to be noticed the same minute.
const ATTEMPTS_MAX: u32 = 5;

impl CandidacyBuilder {
    pub(crate) fn new(client: Client, name: ElectionName) -> Self {
        Self {
            client,
            name,
            candidate: None,
            timing: Ok(Timing::default()),
            priority: Priority::default(),
            metadata: BTreeMap::new(),
            health_within: None,
            purpose: CandidacyPurpose::default(),
            stands_by: true,
            callbacks: Callbacks::default(),
            handlers: BTreeMap::new(),
            max_attempts: ATTEMPTS_MAX,
            broadcast_handlers: BTreeMap::new(),
            #[cfg(feature = "cron")]
            jobs: Vec::new(),
        }
    }

    /// The candidate's label. Default: host name, process id and a random suffix.
    pub fn id(mut self, id: CandidateId) -> Self {
        self.candidate = Some(id);
        self
    }

    /// The durations. Default: [`Preset::Normal`].
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = Ok(timing);
        self
    }

    /// The durations, by name.
    pub fn preset(self, preset: Preset) -> Self {
        self.timing(preset.timing())
    }

    /// How long the store keeps a lease that is not renewed; all other durations are [derived](Timing::from_ttl) from it. A
    /// longer one survives longer outages of the store, and leaves the election without a leader for longer after a crash.
    ///
    /// [`start`](Self::start) fails when it is outside of [`Timing::TTL_MIN`] to [`Timing::TTL_MAX`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let client = tenure::Client::open("memory:")?;
    /// let election = client.election("nightly-report")?.candidate().ttl(Duration::from_secs(30)).start()?;
    /// # election.stop_blocking();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.timing = Timing::from_ttl(ttl);
        self
    }

    /// Its priority. Default: the highest.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Publishes something about the candidate; everybody can read it while it leads.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Demands a sign of life: unless [`Candidacy::heartbeat`] is called at least this often, the candidate counts as
    /// unwell, resigns and does not campaign. It guards against an application that hangs while its lease is kept.
    pub fn require_heartbeat(mut self, within: Duration) -> Self {
        self.health_within = Some(within);
        self
    }

    /// Says that this candidacy is for a lock: whoever leads leaves when its work is done, and most of the time nobody leads.
    /// Metrics tell it from elections. [`Client::lock`] says it by itself.
    pub fn as_lock(mut self) -> Self {
        self.purpose = CandidacyPurpose::Lock;
        self
    }

    /// Never stands in line: nothing is reserved for this candidate, and only a lease that is free when it asks is granted
    /// to it. For those who ask once and leave; [`Lock::try_acquire`](crate::Lock::try_acquire) does it by itself.
    pub fn without_standing_by(mut self) -> Self {
        self.stands_by = false;
        self
    }

    /// Called when leadership begins. A panic or an error in it is reported and changes nothing else.
    pub fn on_elected<R: CallbackResult>(mut self, callback: impl Fn(Leadership) -> R + Send + Sync + 'static) -> Self {
        self.callbacks.elected = Some(Callback::sync(callback));
        self
    }

    /// Called when leadership begins; the future runs on the runtime `start` was called on, if there is one.
    pub fn on_elected_async<F>(mut self, callback: impl Fn(Leadership) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.callbacks.elected = Some(Callback::future(callback));
        self
    }

    /// Called when leadership has ended, to stop what it began. The lease is not released before it has returned, for
    /// at most the grace.
    pub fn on_lost<R: CallbackResult>(
        mut self,
        callback: impl Fn((Term, LossReason)) -> R + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.lost = Some(Callback::sync(callback));
        self
    }

    /// Called when leadership has ended; the future runs on the runtime `start` was called on, if there is one.
    pub fn on_lost_async<F>(mut self, callback: impl Fn((Term, LossReason)) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.callbacks.lost = Some(Callback::future(callback));
        self
    }

    /// Called when something went wrong. The candidacy goes on.
    pub fn on_error<R: CallbackResult>(
        mut self,
        callback: impl Fn(ElectionError) -> R + Send + Sync + 'static,
    ) -> Self {
        self.callbacks.error = Some(Callback::sync(callback));
        self
    }

    /// Called when something went wrong; the future runs on the runtime `start` was called on, if there is one.
    pub fn on_error_async<F>(mut self, callback: impl Fn(ElectionError) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.callbacks.error = Some(Callback::future(callback));
        self
    }

    /// Begins the candidacy. It returns at once; being elected takes as long as it takes.
    ///
    /// # Errors
    /// When the ttl is out of range or too short for the store, the metadata are too large, the store lacks what is asked of it (a mailbox for
    /// messages, pub/sub for broadcasts, a ledger for jobs), two jobs have the same name, or the driver is gone.
    pub fn start(self) -> Result<Candidacy, Error> {
        self.start_told(None)
    }

    /// Begins the candidacy, and tells of all that happens to it from the very first campaign on.
    pub(crate) fn start_with_events(self) -> Result<(Candidacy, Events), Error> {
        let (subscriber, events) = subscription();
        Ok((self.start_told(Some(subscriber))?, events))
    }

    pub(crate) fn name(&self) -> &ElectionName {
        &self.name
    }

    /// How long the first campaign may take until it is answered or given up: it may have to wait for one that is under
    /// way.
    pub(crate) fn first_answer_within(&self) -> Result<Duration, Error> {
        Ok(self.priority.delay() + self.timing.clone()?.attempt_timeout() * 2)
    }

    fn start_told(self, subscriber: Option<Subscriber>) -> Result<Candidacy, Error> {
        self.client.check_process()?;
        let bytes = self.metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > Error::METADATA_BYTES_MAX {
            return Err(Error::Metadata { bytes });
        }
        let timing = self.timing?;
        let (ttl, min) = (timing.ttl(), self.client.capabilities().min_ttl);
        if ttl < min {
            return Err(Error::TtlTooShort { ttl, min });
        }
        let candidate = self.candidate.unwrap_or_else(default_candidate_id);
        let class = self.client.class_of(&self.name, self.purpose);
        let shared = Arc::new(Shared::new(
            self.client.next_id(),
            self.client.key_of(self.name),
            candidate.clone(),
            class,
            self.client.clock().clone(),
            self.client.commands().clone(),
            self.max_attempts,
        ));
        let listens = !self.handlers.is_empty();
        if listens {
            self.client.check_mailbox()?;
            shared.open_inbox(|| handlers(self.handlers));
        }
        let hears = !self.broadcast_handlers.is_empty();
        if hears {
            self.client.check_pubsub()?;
            shared.open_board(|| broadcasts::handlers(self.broadcast_handlers));
        }
        #[cfg(feature = "cron")]
        let job_set = super::jobs::job_set(&self.client, crate::cron::Jobs(self.jobs))?;
        let elector = Elector::new(Candidate {
            id: candidate,
            timing,
            priority: self.priority,
            health_within: self.health_within,
        });
        let callbacks = (!self.callbacks.is_empty()).then(|| CallbackRunner::new(self.callbacks, Arc::clone(&shared)));
        let mut entry = DrivenCandidacy::new(elector, shared_metadata(self.metadata), Arc::clone(&shared), callbacks);
        if !self.stands_by {
            entry.never_stands_by();
        }
        if let Some(subscriber) = subscriber {
            entry.subscribe(shared.clock.now(), subscriber);
        }
        self.client.command(DriverCommand::Add(Box::new(entry)))?;
        if listens {
            shared.send(DriverCommand::Listen(shared.id));
        }
        if hears {
            shared.send(DriverCommand::Hear(shared.id));
        }
        #[cfg(feature = "cron")]
        if let Some(job_set) = &job_set {
            shared.send(DriverCommand::Schedule(shared.id, std::sync::Arc::clone(job_set)));
        }
        let election = Candidacy::new(shared, self.client, self.health_within);
        #[cfg(feature = "cron")]
        election.has_jobs(job_set);
        Ok(election)
    }
}

/// Most candidates publish nothing, and ten thousand of them can share it.
fn shared_metadata(metadata: BTreeMap<String, String>) -> Metadata {
    static NOTHING: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    if metadata.is_empty() { Metadata::clone(&NOTHING) } else { Arc::new(metadata) }
}

impl std::fmt::Debug for CandidacyBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CandidacyBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
