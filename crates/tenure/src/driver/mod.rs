//! The driver: one thread per process and store that holds all its elections.
//!
//! It has a runtime of its own, so an application that blocks its threads, its event loop or its interpreter lock
//! keeps its leases. Everything it does is small and bounded; what the application runs, runs elsewhere.

mod batcher;
mod candidacy;
mod command;
mod companion;
mod deadline_queue;
mod entropy;
mod in_flight;
#[cfg(feature = "testing")]
mod settling;
mod supervisor;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use tenure_core::{Input, Instant, Reply, WriteOutcome};
use tokio::sync::mpsc::UnboundedReceiver;

use self::batcher::Requester;
pub(crate) use self::candidacy::DrivenCandidacy;
pub(crate) use self::command::{CandidacyId, CommandSender, DriverCommand, StoreCall};
pub(crate) use self::companion::{Beside, Companion};
use self::deadline_queue::DeadlineQueue;
use self::entropy::Entropy;
use self::in_flight::{AnsweredBatch, InFlight};
#[cfg(feature = "testing")]
pub(crate) use self::settling::settling;
pub(crate) use self::supervisor::start;
use crate::clock::{Alarm, Clock};
use crate::metrics;
use crate::store::{ElectionKey, Hint, Interest, Store};

/// Runs electors: the clock, the store and chance on one side, applications on the other.
pub(crate) struct Driver {
    clock: Clock,
    alarm: Alarm,
    entropy: Entropy,
    commands: UnboundedReceiver<DriverCommand>,
    hints: BoxStream<'static, Hint>,
    store: Arc<dyn Store>,
    in_flight: InFlight,
    candidacies: HashMap<CandidacyId, Box<DrivenCandidacy>>,
    by_key: BTreeSet<(ElectionKey, CandidacyId)>,
    schedule: DeadlineQueue,
    /// Hints to be followed later.
    later: Vec<(Instant, Hint)>,
    /// All senders of commands are gone.
    orphaned: bool,
}

/// Commands are taken in bunches, so that a thousand elections started in a loop campaign together.
const COMMANDS_PER_ROUND: usize = 1_024;
/// A store that never stops hinting must not keep commands from being obeyed.
const HINTS_PER_ROUND: usize = 64;
/// Hints that wait for their time.
const HINTS_LATER: usize = 1_024;

impl Driver {
    /// Must be called on the runtime it will run on.
    fn new(store: Arc<dyn Store>, clock: Clock, commands: UnboundedReceiver<DriverCommand>) -> std::io::Result<Self> {
        Ok(Self {
            alarm: clock.alarm()?,
            entropy: Entropy::default(),
            commands,
            hints: store.watch(Interest::Own),
            in_flight: InFlight::new(Arc::clone(&store), clock.clone()),
            store,
            clock,
            candidacies: HashMap::new(),
            by_key: BTreeSet::new(),
            schedule: DeadlineQueue::default(),
            later: Vec::new(),
            orphaned: false,
        })
    }

    /// Runs until every handle is dropped and every candidate has left.
    async fn run(&mut self) {
        while !(self.orphaned && self.candidacies.is_empty() && self.in_flight.is_idle()) {
            let next = self.schedule.next().into_iter().chain(self.later.iter().map(|(at, _)| *at)).min();
            tokio::select! {
                biased;
                () = self.alarm.wait_until(next) => self.fire_due(),
                done = self.in_flight.next() => self.finish(done),
                command = self.commands.recv(), if !self.orphaned => self.take_commands(command),
                Some(hint) = self.hints.next() => self.hint(hint),
            }
            self.flush();
            metrics::settle();
        }
        log!(debug, "the driver has nothing left to do and ends");
    }

    /// Nobody leads from here on. It does nothing that could fail.
    fn fail_closed(&self) {
        self.candidacies.values().for_each(|candidacy| candidacy.fail_closed());
    }

    /// Begins anew after a panic. Whatever was under way is given up, and every candidacy begins afresh: its lease is released
    /// when its work has ended, or runs out.
    ///
    /// Companions go on, and so does all that the store has on this runtime.
    fn begin_anew(&mut self, why: &str) {
        self.schedule = DeadlineQueue::default();
        self.later.clear();
        self.in_flight = InFlight::new(Arc::clone(&self.store), self.clock.clone());
        // A stream that panicked must not be asked again.
        self.hints = self.store.watch(Interest::Own);
        let ids: Vec<CandidacyId> = self.candidacies.keys().copied().collect();
        for id in ids {
            let Some(candidacy) = self.candidacies.get_mut(&id) else { continue };
            let due = candidacy.begin_anew(self.clock.now(), why, &mut self.entropy, &mut self.in_flight);
            self.schedule.change(id, None, due);
            if candidacy.is_stopped() {
                self.remove(id);
            }
        }
        self.by_key = self.candidacies.values().map(|candidacy| (candidacy.key().clone(), candidacy.id())).collect();
        self.flush();
    }

    fn fire_due(&mut self) {
        let now = self.clock.now();
        let due: Vec<_> = self.later.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, hint) in due {
            self.follow(&hint);
        }
        // Bounded, so that electors that want to be called again at once cannot keep the driver from everything else.
        for _ in 0..self.candidacies.len() {
            let Some(id) = self.schedule.first_due(now) else { return };
            self.feed(id, Input::Timeout);
        }
    }

    fn take_commands(&mut self, first: Option<DriverCommand>) {
        let Some(first) = first else {
            self.orphaned = true;
            return;
        };
        self.on_command(first);
        for _ in 1..COMMANDS_PER_ROUND {
            let Ok(command) = self.commands.try_recv() else { break };
            self.on_command(command);
        }
        self.take_hints();
    }

    /// An application that always has another command must not keep hints from being heard.
    fn take_hints(&mut self) {
        for _ in 0..HINTS_PER_ROUND {
            let Some(Some(hint)) = self.hints.next().now_or_never() else { break };
            self.hint(hint);
        }
    }

    fn on_command(&mut self, command: DriverCommand) {
        match command {
            DriverCommand::Add(candidacy) => {
                let id = candidacy.id();
                self.by_key.insert((candidacy.key().clone(), id));
                self.candidacies.insert(id, candidacy);
                self.feed(id, Input::Start);
            }
            DriverCommand::Input(id, Input::Stop) => self.stop(id),
            DriverCommand::Input(id, input) => self.feed(id, input),
            DriverCommand::Pause(id) => self.pause(id),
            DriverCommand::Resume(id) => self.change(id, DrivenCandidacy::resume),
            DriverCommand::Report(id, event) => {
                if let Some(candidacy) = self.candidacies.get_mut(&id) {
                    candidacy.report(self.clock.now(), *event);
                }
            }
            DriverCommand::Subscribe(id, subscriber) => {
                if let Some(candidacy) = self.candidacies.get_mut(&id) {
                    candidacy.subscribe(self.clock.now(), subscriber);
                }
            }
            DriverCommand::Attach(id, companion) => {
                if let Some(candidacy) = self.candidacies.get_mut(&id) {
                    candidacy.attach(companion, &self.store);
                }
            }
            DriverCommand::Call(call) => self.in_flight.call(call),
        }
    }

    /// Those who try and give up may come faster than the store answers. Whoever has not asked yet never stood in line, and
    /// need not be taken out of it.
    fn stop(&mut self, id: CandidacyId) {
        self.feed(id, Input::Stop);
        if let Some(unsent) = self.in_flight.withdraw_campaign(id) {
            self.reply(unsent, Reply::Campaign(Err(WriteOutcome::NotSent)));
        }
    }

    /// A hint that is to be followed later is lost when there are too many already: it is only a hint.
    fn hint(&mut self, hint: Hint) {
        if hint.after.is_zero() {
            self.follow(&hint);
        } else if self.later.len() < HINTS_LATER {
            self.later.push((self.clock.now() + hint.after, hint));
        }
    }

    fn follow(&mut self, hint: &Hint) {
        for id in self.concerned(hint) {
            self.feed(id, Input::Hint);
        }
    }

    /// A hint may concern several candidates of this process, and it may be wrong.
    fn concerned(&self, hint: &Hint) -> Vec<CandidacyId> {
        match &hint.key {
            Some(key) => {
                let from_here = self.by_key.range((key.clone(), CandidacyId(0))..);
                from_here.take_while(|(other, _)| other == key).map(|(_, id)| *id).collect()
            }
            None => self.candidacies.keys().copied().collect(),
        }
    }

    fn finish(&mut self, done: Option<AnsweredBatch>) {
        let now = self.clock.now();
        for (address, reply, error) in done.into_iter().flat_map(AnsweredBatch::into_replies) {
            if let Some(candidacy) = self.candidacies.get_mut(&address.candidacy) {
                candidacy.answered(now, error);
            }
            self.reply(address, reply);
        }
    }

    fn reply(&mut self, address: Requester, reply: Reply) {
        self.feed(address.candidacy, Input::Reply { request: address.request, reply });
    }

    /// Lets one elector take in what happened, and carries out what it wants.
    fn feed(&mut self, id: CandidacyId, input: Input) {
        self.change(id, |candidacy, now, entropy, in_flight| candidacy.handle(now, input, entropy, in_flight));
    }

    /// A campaign that was not sent yet need not be sent, nor be taken back.
    fn pause(&mut self, id: CandidacyId) {
        self.change(id, DrivenCandidacy::pause);
        if let Some(unsent) = self.in_flight.withdraw_campaign(id) {
            self.reply(unsent, Reply::Campaign(Err(WriteOutcome::NotSent)));
        }
        self.change(id, DrivenCandidacy::leave_the_line);
    }

    /// Lets something happen to one candidacy, after which it may want to be called at another time.
    fn change(
        &mut self,
        id: CandidacyId,
        happen: impl FnOnce(&mut DrivenCandidacy, Instant, &mut Entropy, &mut InFlight) -> Option<Instant>,
    ) {
        let Some(candidacy) = self.candidacies.get_mut(&id) else { return };
        // The time is read before anything is sent: trust counts from here.
        let now = self.clock.now();
        let before = candidacy.due();
        let after = happen(candidacy, now, &mut self.entropy, &mut self.in_flight);
        self.schedule.change(id, before, after);
        if candidacy.is_stopped() {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: CandidacyId) {
        let Some(candidacy) = self.candidacies.remove(&id) else { return };
        self.schedule.change(id, candidacy.due(), None);
        self.by_key.remove(&(candidacy.key().clone(), id));
    }

    /// Sends what has gathered. A renewal that goes out takes along all that are halfway to theirs.
    fn flush(&mut self) {
        if self.in_flight.is_about_to_renew() {
            let ids: Vec<CandidacyId> = self.candidacies.keys().copied().collect();
            for id in ids {
                self.feed(id, Input::Opportunity);
            }
        }
        self.in_flight.flush();
    }
}
