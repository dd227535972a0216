//! The settings of a candidacy before it starts, and its start.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tenure_core::{
    Candidate, CandidateId, ChannelName, ElectionName, Elector, Metadata, Priority, Timing, TimingError,
};

use super::Candidacy;
use super::broadcasts;
use super::messages::handlers;
use crate::broadcasts::BroadcastCompanion;
use crate::callback::{Callback, CallbackRunner, Callbacks};
use crate::client::Client;
use crate::driver::{DrivenCandidacy, DriverCommand};
use crate::error::Error;
use crate::event::Subscriber;
use crate::identity::default_candidate_id;
use crate::leadership::Leadership;
use crate::messages::MessageCompanion;
use crate::metrics::CandidacyPurpose;
use crate::shared::Shared;
use crate::store::{Broadcast, Message};

/// The settings collected by a builder.
#[derive(Clone)]
pub(super) struct CandidacyPlan {
    pub(super) client: Client,
    pub(super) name: ElectionName,
    // What is wrong with a value is reported at the start, unless another one has taken its place.
    pub(super) candidate: Result<Option<CandidateId>, Error>,
    pub(super) timing: Result<Timing, TimingError>,
    pub(super) priority: Result<Priority, Error>,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) health_within: Option<Duration>,
    pub(super) purpose: CandidacyPurpose,
    pub(super) stands_by: bool,
    pub(super) callbacks: Callbacks,
    pub(super) handlers: BTreeMap<ChannelName, Callback<(Message, Leadership)>>,
    pub(super) max_attempts: u32,
    pub(super) broadcast_handlers: BTreeMap<ChannelName, Callback<Broadcast>>,
    #[cfg(feature = "cron")]
    pub(super) jobs: Vec<(crate::cron::Job, Callback<crate::cron::JobRun>)>,
    /// What is wrong with the first handler that cannot be used.
    pub(super) handler_error: Option<Error>,
}

/// Enough to survive a restart of a service that the handler needs, and few enough to be noticed the same minute.
const MAX_ATTEMPTS: u32 = 5;

impl CandidacyPlan {
    pub(super) fn new(client: Client, name: ElectionName) -> Self {
        Self {
            client,
            name,
            candidate: Ok(None),
            timing: Ok(Timing::default()),
            priority: Ok(Priority::default()),
            metadata: BTreeMap::new(),
            health_within: None,
            purpose: CandidacyPurpose::default(),
            stands_by: true,
            callbacks: Callbacks::default(),
            handlers: BTreeMap::new(),
            max_attempts: MAX_ATTEMPTS,
            broadcast_handlers: BTreeMap::new(),
            #[cfg(feature = "cron")]
            jobs: Vec::new(),
            handler_error: None,
        }
    }

    /// Registers the handler of the messages on a channel.
    pub(super) fn handle_messages(
        &mut self,
        channel: impl TryInto<ChannelName, Error: Into<Error>>,
        handler: Callback<(Message, Leadership)>,
    ) {
        let registered = register(&mut self.handlers, channel, handler);
        self.handler_error = self.handler_error.take().or(registered.err());
    }

    /// Registers the handler of the broadcasts on a channel.
    pub(super) fn handle_broadcasts(
        &mut self,
        channel: impl TryInto<ChannelName, Error: Into<Error>>,
        handler: Callback<Broadcast>,
    ) {
        let registered = register(&mut self.broadcast_handlers, channel, handler);
        self.handler_error = self.handler_error.take().or(registered.err());
    }

    /// Begins it.
    pub(super) fn start(self, subscriber: Option<Subscriber>) -> Result<Candidacy, Error> {
        self.client.check_process()?;
        self.check_settings()?;
        let (timing, priority) = (self.timing?, self.priority?);
        let (ttl, min) = (timing.ttl(), self.client.dyn_store().capabilities().min_ttl);
        if ttl < min {
            return Err(Error::TtlTooShort { ttl, min });
        }
        let candidate = self.candidate?.unwrap_or_else(default_candidate_id);
        let class = self.client.class_of(&self.name, self.purpose);
        let shared = Shared::new(
            self.client.next_id(),
            self.client.key_of(self.name),
            candidate.clone(),
            class,
            self.client.clock().clone(),
            self.client.commands().clone(),
            self.max_attempts,
        );
        #[cfg(feature = "postgres")]
        let shared = shared.in_schema(self.client.dyn_store().schema());
        let shared = Arc::new(shared);
        let listens = !self.handlers.is_empty();
        if listens {
            self.client.check_mailbox()?;
            shared.open_inbox(|| handlers(self.handlers));
        }
        let hears = !self.broadcast_handlers.is_empty();
        if hears {
            self.client.check_pubsub()?;
            shared.open_broadcast_queues(|| broadcasts::handlers(self.broadcast_handlers));
        }
        #[cfg(feature = "cron")]
        let job_set = super::jobs::job_set(&self.client, crate::cron::Jobs(self.jobs))?;
        let elector = Elector::new(Candidate { id: candidate, timing, priority, health_within: self.health_within });
        let callbacks = (!self.callbacks.is_empty()).then(|| CallbackRunner::new(self.callbacks, Arc::clone(&shared)));
        let mut entry = DrivenCandidacy::new(elector, shared_metadata(self.metadata), Arc::clone(&shared), callbacks);
        entry.is_known_to(self.client.crash_helper());
        if !self.stands_by {
            entry.never_stands_by();
        }
        if let Some(subscriber) = subscriber {
            entry.subscribe(shared.clock.now(), subscriber);
        }
        self.client.command(DriverCommand::Add(Box::new(entry)))?;
        if listens {
            shared.attach(MessageCompanion::new(self.client.message_hints()));
        }
        if hears {
            shared.attach(BroadcastCompanion);
        }
        #[cfg(feature = "cron")]
        if let Some(job_set) = &job_set {
            shared.attach(crate::cron::JobCompanion::new(job_set));
        }
        let candidacy = Candidacy::new(shared, self.client, self.health_within);
        #[cfg(feature = "cron")]
        candidacy.has_jobs(job_set);
        Ok(candidacy)
    }

    /// Refuses settings that the builder took as they came.
    fn check_settings(&self) -> Result<(), Error> {
        let bytes = self.metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > Error::MAX_METADATA_BYTES {
            return Err(Error::Metadata { bytes });
        }
        if self.health_within == Some(Duration::ZERO) {
            return Err(Error::Zero { what: "the interval of the required heartbeat".to_owned() });
        }
        if self.max_attempts == 0 {
            return Err(Error::Zero { what: "the number of attempts to handle a message".to_owned() });
        }
        self.handler_error.clone().map_or(Ok(()), Err)
    }
}

/// Keeps the first handler of each channel: which of two is meant, nobody can tell.
fn register<T>(
    handlers: &mut BTreeMap<ChannelName, Callback<T>>,
    channel: impl TryInto<ChannelName, Error: Into<Error>>,
    handler: Callback<T>,
) -> Result<(), Error> {
    match handlers.entry(channel.try_into().map_err(Into::into)?) {
        Entry::Vacant(vacant) => {
            vacant.insert(handler);
            Ok(())
        }
        Entry::Occupied(occupied) => Err(Error::SameChannel { channel: occupied.key().clone() }),
    }
}

/// Most candidates publish nothing, and ten thousand of them can share it.
fn shared_metadata(metadata: BTreeMap<String, String>) -> Metadata {
    static NOTHING: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    if metadata.is_empty() { Metadata::clone(&NOTHING) } else { Arc::new(metadata) }
}
