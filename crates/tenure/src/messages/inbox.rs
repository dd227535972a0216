//! The messages of one candidacy, between the driver that fetches them and the application that handles them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{ChannelName, Instant};
use tokio::sync::Notify;

use super::delivery::Delivery;
use super::handler::MessageHandler;
use super::term_inbox::{HandlingOutcome, RetryPolicy, TermInbox};
use crate::driver::DriverCommand;
use crate::event::ElectionError;
use crate::leadership::{Leadership, Work};
use crate::retry::spread;
use crate::shared::{Grant, Shared};
use crate::store::Message;

/// What one candidacy has received. It is part of what the driver and the application share, and so are its methods.
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    /// Wakes whoever fetches.
    pub(super) changed: Notify,
    pub(super) handlers: BTreeMap<ChannelName, MessageHandler>,
    max_attempts: u32,
}

#[derive(Default)]
struct InboxState {
    term_inbox: TermInbox<Work>,
    grant: Option<Arc<Grant>>,
    /// Wakes those who read a channel.
    notifies: BTreeMap<ChannelName, Arc<Notify>>,
}

impl Inbox {
    pub(crate) fn new(handlers: BTreeMap<ChannelName, MessageHandler>, max_attempts: u32) -> Self {
        let inbox = Self { state: Mutex::default(), changed: Notify::new(), handlers, max_attempts };
        for channel in inbox.handlers.keys() {
            inbox.open(channel);
        }
        inbox
    }

    /// Messages may wait in the store.
    pub(crate) fn look(&self) {
        self.state().term_inbox.look();
        self.changed.notify_one();
    }

    /// How many messages are here that nobody has finished handling.
    #[cfg(feature = "metrics")]
    pub(crate) fn waiting(&self) -> usize {
        self.state().term_inbox.waiting()
    }

    /// How many handlers run now.
    pub(crate) fn running_handlers(&self) -> usize {
        self.handlers.values().filter(|handler| handler.is_running()).count()
    }

    /// Somebody reads a channel. It is notified when there may be something on it.
    pub(super) fn open(&self, channel: &ChannelName) -> Arc<Notify> {
        let mut state = self.state();
        state.term_inbox.open(channel);
        let notify = Arc::clone(state.notifies.entry(channel.clone()).or_default());
        drop(state);
        self.changed.notify_one();
        notify
    }

    pub(super) fn close(&self, channel: &ChannelName) {
        self.state().term_inbox.close(channel);
        self.changed.notify_one();
    }

    pub(super) fn begin(&self, grant: &Arc<Grant>) {
        let mut state = self.state();
        state.term_inbox.begin(grant.term);
        state.grant = Some(Arc::clone(grant));
    }

    /// Returns what kept the lease.
    pub(super) fn end(&self) -> Vec<Work> {
        let mut state = self.state();
        state.grant = None;
        state.term_inbox.end()
    }

    /// For whoever fetches, one step at a time.
    pub(super) fn with_term_inbox<T>(&self, act: impl FnOnce(&mut TermInbox<Work>) -> T) -> T {
        act(&mut self.state().term_inbox)
    }

    /// Hands out the next message on a channel, if there is one and it is not too late to begin with it.
    pub(super) fn take(&self, shared: &Arc<Shared>, channel: &ChannelName) -> Option<Delivery> {
        let mut state = self.state();
        if !state.term_inbox.has_ready(channel) {
            return None;
        }
        let leadership = Leadership::new(Arc::clone(shared), Arc::clone(state.grant.as_ref()?));
        let work = leadership.begin_work()?;
        let message = state.term_inbox.take(channel)?;
        if state.term_inbox.has_ready(channel) {
            // One notification may have been for two messages.
            state.notify(channel);
        }
        Some(Delivery::new(message, leadership, work))
    }

    /// Takes note of what became of a message.
    pub(super) fn finish(&self, shared: &Shared, message: &Message, outcome: HandlingOutcome, work: Work) {
        let term = work.leadership().term();
        let policy = RetryPolicy { now: shared.clock.now(), max_attempts: self.max_attempts, spread: spread() };
        let given_up = {
            let mut state = self.state();
            let given_up = state.term_inbox.finish(term, message, outcome, Some(work), policy);
            if state.term_inbox.has_ready(&message.channel) {
                state.notify(&message.channel);
            }
            given_up
        };
        self.changed.notify_one();
        if let Some(given_up) = given_up {
            let (channel, id, attempts, why) = (given_up.channel, given_up.id, given_up.attempts, given_up.why);
            shared.send(DriverCommand::Error(shared.id, ElectionError::DeadLettered { channel, id, attempts, why }));
        }
    }

    /// Lets messages be tried again whose time has come, and wakes all who can handle something.
    pub(super) fn ripen(&self, shared: &Arc<Shared>, now: Instant) {
        let ready = {
            let mut state = self.state();
            state.term_inbox.ripen(now);
            let ready = state.term_inbox.ready();
            ready.iter().for_each(|channel| state.notify(channel));
            ready
        };
        for channel in ready {
            if let Some(handler) = self.handlers.get(&channel) {
                handler.wake(shared, &channel);
            }
        }
    }

    /// A panic elsewhere cannot have left it half changed: every step is made of plain assignments.
    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboxState {
    fn notify(&self, channel: &ChannelName) {
        if let Some(notify) = self.notifies.get(channel) {
            notify.notify_one();
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("handlers", &self.handlers.keys()).finish_non_exhaustive()
    }
}
