//! The messages of one candidacy, between the driver that fetches them and the application that handles them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{ChannelName, Instant};
use tokio::sync::Notify;

use super::delivery::Delivery;
use super::desk::{Desk, Outcome, Policy};
use super::handler::Handler;
use crate::driver::Command;
use crate::event::Trouble;
use crate::leadership::{Leadership, Work};
use crate::retry::spread;
use crate::shared::{Grant, Shared};
use crate::store::Message;

/// What one candidacy has received. It is part of what the driver and the application share, and so are its methods.
pub(crate) struct Inbox {
    state: Mutex<State>,
    /// Wakes whoever fetches.
    pub(super) changed: Notify,
    pub(super) handlers: BTreeMap<ChannelName, Handler>,
    attempts_max: u32,
}

#[derive(Default)]
struct State {
    desk: Desk<Work>,
    grant: Option<Arc<Grant>>,
    /// Wakes those who read a channel.
    bells: BTreeMap<ChannelName, Arc<Notify>>,
}

impl Inbox {
    pub(crate) fn new(handlers: BTreeMap<ChannelName, Handler>, attempts_max: u32) -> Self {
        let inbox = Self { state: Mutex::default(), changed: Notify::new(), handlers, attempts_max };
        for channel in inbox.handlers.keys() {
            inbox.open(channel);
        }
        inbox
    }

    /// Messages may wait in the store.
    pub(crate) fn look(&self) {
        self.state().desk.look();
        self.changed.notify_one();
    }

    /// How many messages are here that nobody has finished handling.
    #[cfg(feature = "metrics")]
    pub(crate) fn waiting(&self) -> usize {
        self.state().desk.waiting()
    }

    /// How many handlers run now.
    pub(crate) fn running_handlers(&self) -> usize {
        self.handlers.values().filter(|handler| handler.is_running()).count()
    }

    /// Somebody reads a channel. The bell rings when there may be something on it.
    pub(super) fn open(&self, channel: &ChannelName) -> Arc<Notify> {
        let mut state = self.state();
        state.desk.open(channel);
        let bell = Arc::clone(state.bells.entry(channel.clone()).or_default());
        drop(state);
        self.changed.notify_one();
        bell
    }

    pub(super) fn close(&self, channel: &ChannelName) {
        self.state().desk.close(channel);
        self.changed.notify_one();
    }

    pub(super) fn begin(&self, grant: &Arc<Grant>) {
        let mut state = self.state();
        state.desk.begin(grant.term);
        state.grant = Some(Arc::clone(grant));
    }

    /// Returns what kept the lease.
    pub(super) fn end(&self) -> Vec<Work> {
        let mut state = self.state();
        state.grant = None;
        state.desk.end()
    }

    /// For whoever fetches, one step at a time.
    pub(super) fn with_desk<T>(&self, act: impl FnOnce(&mut Desk<Work>) -> T) -> T {
        act(&mut self.state().desk)
    }

    /// Hands out the next message on a channel, if there is one and it is not too late to begin with it.
    pub(super) fn take(&self, shared: &Arc<Shared>, channel: &ChannelName) -> Option<Delivery> {
        let mut state = self.state();
        if !state.desk.has_ready(channel) {
            return None;
        }
        let leadership = Leadership::new(Arc::clone(shared), Arc::clone(state.grant.as_ref()?));
        let work = leadership.begin_work()?;
        let message = state.desk.take(channel)?;
        if state.desk.has_ready(channel) {
            // One ring may have been for two messages.
            state.ring(channel);
        }
        Some(Delivery::new(message, leadership, work))
    }

    /// Takes note of what became of a message.
    pub(super) fn finish(&self, shared: &Shared, message: &Message, outcome: Outcome, work: Work) {
        let term = work.leadership().term();
        let policy = Policy { now: shared.clock.now(), attempts_max: self.attempts_max, spread: spread() };
        let given_up = {
            let mut state = self.state();
            let given_up = state.desk.finish(term, message, outcome, Some(work), policy);
            if state.desk.has_ready(&message.channel) {
                state.ring(&message.channel);
            }
            given_up
        };
        self.changed.notify_one();
        if let Some(given_up) = given_up {
            let (channel, id, attempts, why) = (given_up.channel, given_up.id, given_up.attempts, given_up.why);
            shared.send(Command::Trouble(shared.id, Trouble::SetAside { channel, id, attempts, why }));
        }
    }

    /// Lets messages be tried again whose time has come, and wakes all who can handle something.
    pub(super) fn ripen(&self, shared: &Arc<Shared>, now: Instant) {
        let ready = {
            let mut state = self.state();
            state.desk.ripen(now);
            let ready = state.desk.ready();
            ready.iter().for_each(|channel| state.ring(channel));
            ready
        };
        for channel in ready {
            if let Some(handler) = self.handlers.get(&channel) {
                handler.wake(shared, &channel);
            }
        }
    }

    /// A panic elsewhere cannot have left it half changed: every step is made of plain assignments.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ring(&self, channel: &ChannelName) {
        if let Some(bell) = self.bells.get(channel) {
            bell.notify_one();
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("handlers", &self.handlers.keys()).finish_non_exhaustive()
    }
}
