//! The messages of one candidacy, between the driver that fetches them and the application that handles them: the
//! [machine](LeaderInbox) that decides, behind a lock that is held for a few assignments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::messages::{
    HandlingOutcome, InboxAnomaly, InboxInput, InboxMoment, InboxOutput, LeaderInbox, MailboxCall, MailboxCallId,
};
use tenure_core::{ChannelName, Input, Instant};
use tokio::sync::Notify;

use super::delivery::Delivery;
use super::handler::MessageHandler;
use crate::driver::DriverCommand;
use crate::event::ElectionError;
use crate::leadership::{Leadership, Work};
use crate::retry::spread;
use crate::shared::{Grant, Shared};
use crate::store::{ElectionKey, Message, StoreError, StoreErrorKind};

/// What one candidacy has received. It is part of what the driver and the application share, and so are its methods.
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    /// Wakes the pump.
    pub(super) changed: Notify,
    pub(super) handlers: BTreeMap<ChannelName, MessageHandler>,
}

struct InboxState {
    machine: LeaderInbox,
    /// The leadership that is not over.
    grant: Option<Arc<Grant>>,
    /// Keeps the lease from being released.
    hold: Option<Work>,
    /// Wakes those who read a channel.
    notifies: BTreeMap<ChannelName, Arc<Notify>>,
    /// Whether the store tells of new messages.
    pushes: bool,
    to_do: PumpWork,
}

/// What only the pump can do.
#[derive(Default)]
pub(super) struct PumpWork {
    pub(super) call: Option<(MailboxCallId, MailboxCall)>,
    /// Channels whose handlers have something to do.
    ready: BTreeSet<ChannelName>,
    pub(super) alarm: Option<Instant>,
}

/// What is done once the lock is free: each of it may take other locks.
#[derive(Default)]
struct AfterUnlock {
    delivered: Option<Message>,
    released: Option<Work>,
    told: Vec<DriverCommand>,
}

impl Inbox {
    pub(crate) fn new(key: ElectionKey, handlers: BTreeMap<ChannelName, MessageHandler>, max_attempts: u32) -> Self {
        let mut machine = LeaderInbox::new(key, max_attempts);
        let mut notifies = BTreeMap::new();
        for channel in handlers.keys() {
            // Nobody leads yet, and so nothing follows from it.
            let moment = InboxMoment { now: Instant::ZERO, leads: None, spread: 0, pushes: false };
            machine.handle(moment, InboxInput::Opened { channel: channel.clone() });
            notifies.insert(channel.clone(), Arc::default());
        }
        let (grant, hold, pushes, to_do) = (None, None, false, PumpWork::default());
        let state = InboxState { machine, grant, hold, notifies, pushes, to_do };
        Self { state: Mutex::new(state), changed: Notify::new(), handlers }
    }

    /// Messages may wait in the store.
    pub(crate) fn look(&self, shared: &Arc<Shared>) {
        self.handle(shared, InboxInput::Hint);
    }

    /// How many messages are here that nobody has finished handling.
    #[cfg(feature = "metrics")]
    pub(crate) fn waiting(&self) -> usize {
        self.state().machine.waiting()
    }

    /// How many handlers run now.
    pub(crate) fn running_handlers(&self) -> usize {
        self.handlers.values().filter(|handler| handler.is_running()).count()
    }

    /// Somebody reads a channel. It is notified when there may be something on it.
    pub(super) fn open(&self, shared: &Arc<Shared>, channel: &ChannelName) -> Arc<Notify> {
        let notify = Arc::clone(self.state().notifies.entry(channel.clone()).or_default());
        self.handle(shared, InboxInput::Opened { channel: channel.clone() });
        notify
    }

    pub(super) fn close(&self, shared: &Arc<Shared>, channel: &ChannelName) {
        self.handle(shared, InboxInput::Closed { channel: channel.clone() });
    }

    /// A leadership begins, or is over.
    pub(super) fn follow(&self, shared: &Arc<Shared>, grant: Option<Arc<Grant>>, input: InboxInput) {
        self.state().grant = grant;
        self.handle(shared, input);
    }

    /// Takes note of whether the store tells of new messages, which may turn out late.
    pub(super) fn pushes(&self, pushes: bool) {
        self.state().pushes = pushes;
    }

    /// Hands out the next message on a channel, if there is one and it is not too late to begin with it.
    pub(super) fn take(&self, shared: &Arc<Shared>, channel: &ChannelName) -> Option<Delivery> {
        let grant = {
            let state = self.state();
            state.grant.clone().filter(|_| state.machine.has_ready(channel))?
        };
        let leadership = Leadership::new(Arc::clone(shared), grant);
        let work = leadership.begin_work()?;
        let message = self.handle(shared, InboxInput::Take { channel: channel.clone() })?;
        Some(Delivery::new(message, leadership, work))
    }

    /// Takes note of what became of a message.
    pub(super) fn finish(&self, shared: &Arc<Shared>, message: &Message, outcome: HandlingOutcome, work: Work) {
        let (term, line, id) = (work.leadership().term(), message.ordering_key(), message.id);
        self.handle_during(shared, InboxInput::Handled { term, line, id, outcome }, Some(work));
    }

    /// Tells the machine what has happened, and carries out what it wants. What only the pump can do is left to it.
    pub(super) fn handle(&self, shared: &Arc<Shared>, input: InboxInput) -> Option<Message> {
        self.handle_during(shared, input, None)
    }

    /// The same at the end of some work, which goes on to keep the lease if the machine wants that: where leadership has ended, no
    /// other work can begin.
    fn handle_during(&self, shared: &Arc<Shared>, input: InboxInput, mut work: Option<Work>) -> Option<Message> {
        let is_of_pump = matches!(input, InboxInput::Reply { .. } | InboxInput::Timeout);
        let AfterUnlock { delivered, released, told } = self.state().handle(shared, input, &mut work);
        drop((released, work));
        told.into_iter().for_each(|command| shared.send(command));
        if !is_of_pump {
            self.changed.notify_one();
        }
        delivered
    }

    /// What only the pump can do. Handlers are woken by then: not by whoever makes something ready, who may be one of them.
    pub(super) fn pump_work(&self, shared: &Arc<Shared>) -> PumpWork {
        let to_do = {
            let to_do = &mut self.state().to_do;
            PumpWork { call: to_do.call.take(), ready: std::mem::take(&mut to_do.ready), alarm: to_do.alarm }
        };
        for channel in &to_do.ready {
            if let Some(handler) = self.handlers.get(channel) {
                handler.wake(shared, channel);
            }
        }
        to_do
    }

    /// A panic elsewhere cannot have left it half changed: every step is made of plain assignments.
    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboxState {
    fn handle(&mut self, shared: &Arc<Shared>, input: InboxInput, work: &mut Option<Work>) -> AfterUnlock {
        let leadership = self.grant.as_ref().map(|grant| Leadership::new(Arc::clone(shared), Arc::clone(grant)));
        let moment = InboxMoment {
            now: shared.clock.now(),
            leads: leadership.as_ref().filter(|leads| !leads.is_cancelled()).map(Leadership::term),
            spread: spread(),
            pushes: self.pushes,
        };
        self.machine.handle(moment, input);
        let mut after_unlock = AfterUnlock::default();
        loop {
            match self.machine.poll_output() {
                InboxOutput::Timeout(alarm) => {
                    self.to_do.alarm = alarm;
                    return after_unlock;
                }
                InboxOutput::Call { id, call } => self.to_do.call = Some((id, call)),
                InboxOutput::Ready { channel } => {
                    self.notifies.get(&channel).into_iter().for_each(|notify| notify.notify_one());
                    self.to_do.ready.insert(channel);
                }
                InboxOutput::Deliver(message) => after_unlock.delivered = Some(message),
                InboxOutput::Hold { .. } => self.hold = work.take(),
                InboxOutput::Release { .. } => after_unlock.released = self.hold.take(),
                InboxOutput::Report(anomaly) => {
                    after_unlock.told.push(DriverCommand::error(shared.id, error_of(anomaly, shared)));
                }
                InboxOutput::Hint => after_unlock.told.push(DriverCommand::Input(shared.id, Input::Hint)),
                // A machine that is newer than this says more.
                _ => {}
            }
        }
    }
}

fn error_of(anomaly: InboxAnomaly, shared: &Shared) -> ElectionError {
    match anomaly {
        InboxAnomaly::DeadLettered { channel, id, attempts, why } => {
            ElectionError::DeadLettered { election: shared.key.name.clone(), channel, id, attempts, why }
        }
        InboxAnomaly::DeadLettersDropped { count } => ElectionError::DeadLettersDropped { count },
        // A machine that is newer than this says more.
        _ => {
            let message = "the store did not answer in time when it was asked about messages";
            ElectionError::Store(StoreError::unknown(StoreErrorKind::TimedOut, message))
        }
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("handlers", &self.handlers.keys()).finish_non_exhaustive()
    }
}
