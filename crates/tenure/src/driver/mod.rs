//! The driver: one thread per process and store that holds all its elections.
//!
//! It has a runtime of its own, so an application that blocks its threads, its event loop or its interpreter lock
//! keeps its leases. Everything it does is small and bounded; what the application runs, runs elsewhere.

mod calls;
mod chance;
mod command;
mod entry;
mod gathering;
mod schedule;
mod supervisor;
mod tasks;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use tenure_core::{Failure, Input, Instant, Reply};
use tokio::sync::mpsc::UnboundedReceiver;

use self::calls::{Calls, Done};
use self::chance::Chance;
pub(crate) use self::command::{Command, CommandSender, EntryId, StoreCall};
pub(crate) use self::entry::Entry;
use self::gathering::Address;
use self::schedule::Schedule;
pub(crate) use self::supervisor::start;
use crate::clock::{Alarm, Clock};
use crate::event::Trouble;
use crate::metrics;
use crate::store::{ElectionKey, Hint, Interest, Store};

/// Runs electors: the clock, the store and chance on one side, applications on the other.
pub(crate) struct Driver {
    clock: Clock,
    alarm: Alarm,
    chance: Chance,
    commands: UnboundedReceiver<Command>,
    hints: BoxStream<'static, Hint>,
    /// Silent until somebody reads messages.
    message_hints: Option<BoxStream<'static, Hint>>,
    store: Arc<dyn Store>,
    calls: Calls,
    entries: HashMap<EntryId, Box<Entry>>,
    by_key: BTreeSet<(ElectionKey, EntryId)>,
    schedule: Schedule,
    /// Hints to be followed later.
    later: Vec<(Instant, Hint)>,
    /// Nobody can send commands any more.
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
    fn new(store: Arc<dyn Store>, clock: Clock, commands: UnboundedReceiver<Command>) -> std::io::Result<Self> {
        Ok(Self {
            alarm: clock.alarm()?,
            chance: Chance::default(),
            commands,
            hints: store.watch(Interest::Own),
            message_hints: None,
            calls: Calls::new(Arc::clone(&store), clock.clone()),
            store,
            clock,
            entries: HashMap::new(),
            by_key: BTreeSet::new(),
            schedule: Schedule::default(),
            later: Vec::new(),
            orphaned: false,
        })
    }

    /// Runs until every handle is dropped and every candidate has left.
    async fn run(&mut self) {
        while !(self.orphaned && self.entries.is_empty() && self.calls.is_idle()) {
            let next = self.schedule.next().into_iter().chain(self.later.iter().map(|(at, _)| *at)).min();
            tokio::select! {
                biased;
                () = self.alarm.wait_until(next) => self.fire_due(),
                done = self.calls.next() => self.finish(done),
                command = self.commands.recv(), if !self.orphaned => self.take_commands(command),
                Some(hint) = self.hints.next() => self.hint(hint),
                Some(hint) = next_of(&mut self.message_hints) => self.look_for_messages(&hint),
            }
            self.flush();
            metrics::settle();
        }
        log!(debug, "the driver has nothing left to do");
    }

    /// Nobody leads from here on. It does nothing that could fail.
    fn fail_closed(&self) {
        self.entries.values().for_each(|entry| entry.fail_closed());
    }

    /// Begins anew after a panic. Whatever was under way is given up, and every candidacy begins afresh: its lease is released
    /// when its work has ended, or runs out.
    ///
    /// Tasks beside the elections go on, and so does all that the store has on this runtime.
    fn begin_anew(&mut self, why: &str) {
        self.schedule = Schedule::default();
        self.later.clear();
        self.calls = Calls::new(Arc::clone(&self.store), self.clock.clone());
        // A stream that panicked must not be asked again.
        self.hints = self.store.watch(Interest::Own);
        if self.message_hints.is_some() {
            self.message_hints = Some(self.store.watch(Interest::Messages));
        }
        let ids: Vec<EntryId> = self.entries.keys().copied().collect();
        for id in ids {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            let due = entry.begin_anew(self.clock.now(), why, &mut self.chance, &mut self.calls);
            self.schedule.change(id, None, due);
            if entry.is_stopped() {
                self.remove(id);
            }
        }
        self.by_key = self.entries.values().map(|entry| (entry.key().clone(), entry.id())).collect();
        self.flush();
    }

    fn fire_due(&mut self) {
        let now = self.clock.now();
        let due: Vec<_> = self.later.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, hint) in due {
            self.follow(&hint);
        }
        // Bounded, so that electors that want to be called again at once cannot keep the driver from everything else.
        for _ in 0..self.entries.len() {
            let Some(id) = self.schedule.first_due(now) else { return };
            self.feed(id, Input::Timeout);
        }
    }

    fn take_commands(&mut self, first: Option<Command>) {
        let Some(first) = first else {
            self.orphaned = true;
            return;
        };
        self.obey(first);
        for _ in 1..COMMANDS_PER_ROUND {
            let Ok(command) = self.commands.try_recv() else { break };
            self.obey(command);
        }
        self.take_hints();
    }

    /// An application that always has another command must not keep hints from being heard.
    fn take_hints(&mut self) {
        for _ in 0..HINTS_PER_ROUND {
            let Some(Some(hint)) = self.hints.next().now_or_never() else { break };
            self.hint(hint);
        }
        for _ in 0..HINTS_PER_ROUND {
            let Some(Some(hint)) = next_of(&mut self.message_hints).now_or_never() else { break };
            self.look_for_messages(&hint);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Add(entry) => {
                let id = entry.id();
                self.by_key.insert((entry.key().clone(), id));
                self.entries.insert(id, entry);
                self.feed(id, Input::Start);
            }
            Command::Input(id, Input::Stop) => self.stop(id),
            Command::Input(id, input) => self.feed(id, input),
            Command::Trouble(id, trouble) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.trouble(self.clock.now(), trouble);
                }
            }
            Command::Subscribe(id, subscriber) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.subscribe(self.clock.now(), subscriber);
                }
            }
            Command::Listen(id) => self.listen(id),
            Command::Hear(id) => self.hear(id),
            #[cfg(feature = "cron")]
            Command::Schedule(id, roster) => {
                // In a task of its own, that ends with the candidacy or with the driver.
                if let Some(entry) = self.entries.get(&id) {
                    entry.spawn_scheduler(&self.store, roster);
                }
            }
            #[cfg(feature = "cron")]
            Command::Job(id, news) => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.job(self.clock.now(), *news);
                }
            }
            Command::Call(call) => self.calls.call(call),
        }
    }

    /// Those who try and give up may come faster than the store answers. Whoever has not asked yet never stood in line, and
    /// need not be taken out of it.
    fn stop(&mut self, id: EntryId) {
        self.feed(id, Input::Stop);
        if let Some(unsent) = self.calls.withdraw_campaign(id) {
            self.reply(unsent, Reply::Campaign(Err(Failure::NotSent)));
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
    fn concerned(&self, hint: &Hint) -> Vec<EntryId> {
        match &hint.key {
            Some(key) => {
                let from_here = self.by_key.range((key.clone(), EntryId(0))..);
                from_here.take_while(|(other, _)| other == key).map(|(_, id)| *id).collect()
            }
            None => self.entries.keys().copied().collect(),
        }
    }

    /// Lets messages be fetched for a candidate, in a task of its own that ends with the candidacy or with the driver.
    fn listen(&mut self, id: EntryId) {
        let Some(entry) = self.entries.get(&id) else { return };
        self.message_hints.get_or_insert_with(|| self.store.watch(Interest::Messages));
        entry.spawn_pump(&self.store);
    }

    /// Lets broadcasts be heard by a candidate, likewise.
    fn hear(&self, id: EntryId) {
        if let Some(entry) = self.entries.get(&id) {
            entry.spawn_ear(&self.store);
        }
    }

    fn look_for_messages(&self, hint: &Hint) {
        for id in self.concerned(hint) {
            if let Some(entry) = self.entries.get(&id) {
                entry.look_for_messages();
            }
        }
    }

    fn finish(&mut self, done: Option<Done>) {
        let now = self.clock.now();
        for (address, reply, error) in done.into_iter().flat_map(Done::into_replies) {
            if let (Some(error), Some(entry)) = (error, self.entries.get_mut(&address.entry)) {
                entry.trouble(now, Trouble::Store(error));
            }
            self.reply(address, reply);
        }
    }

    fn reply(&mut self, address: Address, reply: Reply) {
        self.feed(address.entry, Input::Reply { request: address.request, reply });
    }

    /// Lets one elector take in what happened, and carries out what it wants.
    fn feed(&mut self, id: EntryId, input: Input) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        // The time is read before anything is sent: trust counts from here.
        let now = self.clock.now();
        let before = entry.due();
        let after = entry.handle(now, input, &mut self.chance, &mut self.calls);
        self.schedule.change(id, before, after);
        if entry.is_stopped() {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: EntryId) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.schedule.change(id, entry.due(), None);
        self.by_key.remove(&(entry.key().clone(), id));
    }

    /// Sends what has gathered. A renewal that goes out takes along all that are halfway to theirs.
    fn flush(&mut self) {
        if self.calls.is_about_to_renew() {
            let ids: Vec<EntryId> = self.entries.keys().copied().collect();
            for id in ids {
                self.feed(id, Input::Opportunity);
            }
        }
        self.calls.flush();
    }
}

/// The next hint; never without a stream. Cancel safe.
async fn next_of(hints: &mut Option<BoxStream<'static, Hint>>) -> Option<Hint> {
    match hints {
        Some(hints) => hints.next().await,
        None => std::future::pending().await,
    }
}
