//! Electors, a store that keeps the contract, and a network between them that does not, in simulated time.
//!
//! Every choice is read off a tape of numbers, so that a failing run shrinks to a short tape; zeros mean good luck.

mod monitor;
mod store;

use std::collections::BTreeMap;

use super::*;
pub(super) use monitor::Monitor;
use store::TestStore;

/// True time, in nanoseconds.
pub(super) type TrueTime = u64;

const MILLI: u64 = 1_000_000;

/// Electors in one election.
pub(super) struct TestWorld {
    now: TrueTime,
    store: TestStore,
    nodes: Vec<TestNode>,
    events: BTreeMap<(TrueTime, u64), TestEvent>,
    scheduled: u64,
    tape: ChanceTape,
    healed: bool,
    /// Whether everybody has kept the contract so far.
    honest: bool,
}

/// One candidate: its process, its clock and what must be true of it.
struct TestNode {
    elector: Elector,
    clock: TestClock,
    monitor: Monitor,
    timeout: Option<Instant>,
    paused_until: TrueTime,
    /// Calls in a row that asked to be called again in no time.
    restless: u32,
}

/// A clock that runs at its own rate from its own zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct TestClock {
    /// Nanoseconds it counts in a true second.
    rate: u32,
    zero: u64,
}

/// Something that is on its way.
enum TestEvent {
    AtStore { node: usize, request: Request },
    AtNode { node: usize, input: Input },
}

/// Chance: a tape that is read round and round.
struct ChanceTape {
    numbers: Vec<u16>,
    read: usize,
}

/// One line of a scenario.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Time passes.
    Run { millis: u64 },
    /// A process stands still while its clock goes on.
    Pause { node: usize, millis: u64 },
    /// A process dies, and another begins in its place.
    Crash { node: usize },
    /// Something happens to an elector.
    Feed { node: usize, input: Input },
    /// An operator asks whoever leads to hand over.
    Handover,
    /// An answer that no store gave.
    Forge { node: usize, request: RequestId, reply: Reply },
    /// A client that does not keep the contract takes the lease.
    Seize,
    /// The store forgets everything.
    Flush,
}

impl TestClock {
    /// `drift` is how much faster than true time it runs, in parts per billion.
    pub(super) fn new(drift: i32, zero: u64) -> Self {
        Self { rate: 1_000_000_000_u32.checked_add_signed(drift).unwrap(), zero }
    }

    fn at(self, now: TrueTime) -> Instant {
        let counted = u128::from(now) * u128::from(self.rate) / 1_000_000_000;
        Instant::from_nanos(self.zero + u64::try_from(counted).unwrap())
    }

    /// The first true time at which it shows `at`, or more.
    fn when(self, at: Instant) -> TrueTime {
        let counted = u128::from(at.as_nanos().saturating_sub(self.zero)) * 1_000_000_000;
        u64::try_from(counted.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }
}

impl ChanceTape {
    fn next(&mut self) -> u64 {
        self.read += 1;
        u64::from(self.numbers[self.read % self.numbers.len()])
    }

    /// True in about `percent` of all cases, and never on a tape of zeros.
    fn chance(&mut self, percent: u64) -> bool {
        self.next() > 65_535 - 655 * percent
    }

    /// Mostly a few milliseconds, sometimes many seconds.
    fn delay(&mut self) -> u64 {
        let longest = if self.chance(5) {
            20_000
        } else if self.chance(20) {
            1_200
        } else {
            30
        };
        MILLI / 2 + self.next() * longest * MILLI / 65_536
    }
}

impl TestWorld {
    pub(super) fn new(store: TestClock, clocks: &[TestClock], candidates: &[Candidate], tape: Vec<u16>) -> Self {
        let nodes = clocks.iter().zip(candidates).map(|(clock, candidate)| TestNode {
            elector: Elector::new(candidate.clone()),
            clock: *clock,
            monitor: Monitor::default(),
            timeout: None,
            paused_until: 0,
            restless: 0,
        });
        let mut world = Self {
            now: 0,
            store: TestStore::new(store, candidates[0].timing.ttl()),
            nodes: nodes.collect(),
            events: BTreeMap::new(),
            scheduled: 0,
            tape: ChanceTape { numbers: tape, read: 0 },
            healed: false,
            honest: true,
        };
        for node in 0..world.nodes.len() {
            world.feed(node, Input::Start);
        }
        world
    }

    pub(super) fn play(&mut self, op: Op) {
        self.honest &= !matches!(op, Op::Forge { .. } | Op::Seize | Op::Flush);
        match op {
            Op::Run { millis } => self.run_until(self.now + millis * MILLI),
            Op::Pause { node, millis } => {
                let node = &mut self.nodes[node];
                node.paused_until = node.paused_until.max(self.now + millis * MILLI);
            }
            Op::Crash { node } => self.crash(node),
            Op::Feed { node, input } => self.schedule(0, TestEvent::AtNode { node, input }),
            Op::Handover => self.store.ask_for_handover(self.now),
            Op::Forge { node, request, reply } => {
                self.schedule(0, TestEvent::AtNode { node, input: Input::Reply { request, reply } });
            }
            Op::Seize => self.store.seize(self.now),
            Op::Flush => self.store.flush(),
        }
    }

    /// Everything works from here on, and all old work has ended. Somebody must come to lead; and when that one
    /// falls silent, another.
    pub(super) fn heal(&mut self) {
        self.healed = true;
        // What a pause has held back must not make anybody ill again.
        let ill =
            |event: &TestEvent| matches!(event, TestEvent::AtNode { input: Input::Health { healthy: false }, .. });
        self.events.retain(|_, event| !ill(event));
        for node in 0..self.nodes.len() {
            self.nodes[node].paused_until = self.now;
            self.schedule(0, TestEvent::AtNode { node, input: Input::Health { healthy: true } });
            if let Some(term) = self.nodes[node].monitor.running() {
                self.schedule(0, TestEvent::AtNode { node, input: Input::WorkEnded { term } });
            }
        }
        // What is still on its way may arrive for another twenty seconds.
        self.run_fed(90);
        let leads = |node: &TestNode| node.elector.leads_under().is_some();
        let leaders: Vec<usize> = (0..self.nodes.len()).filter(|node| leads(&self.nodes[*node])).collect();
        let [leader] = leaders[..] else { panic!("one leads when all is well, and not {leaders:?}") };
        self.nodes[leader].paused_until = self.now + 60_000 * MILLI;
        self.run_fed(40);
        let others = self.nodes.iter().enumerate().filter(|(node, _)| *node != leader);
        assert_eq!(others.filter(|(_, node)| leads(node)).count(), 1, "another takes over");
    }

    /// Runs; those that have to say that they are well do so.
    fn run_fed(&mut self, seconds: u64) {
        let end = self.now + seconds * 1_000 * MILLI;
        while self.now < end {
            for node in 0..self.nodes.len() {
                if self.nodes[node].elector.candidate().health_within.is_some() {
                    self.schedule(0, TestEvent::AtNode { node, input: Input::Health { healthy: true } });
                }
            }
            self.run_until(end.min(self.now + 10_000 * MILLI));
        }
    }

    /// The network is gone, and everybody wants to leave: that ends in a bounded time.
    pub(super) fn stop_all(&mut self) {
        self.events.clear();
        for node in &mut self.nodes {
            node.paused_until = self.now;
        }
        for node in 0..self.nodes.len() {
            self.feed(node, Input::Stop);
        }
        let timing = self.nodes[0].elector.candidate().timing;
        let longest = timing.hold() + timing.attempt_timeout() * 3 + timing.renew_every();
        let end = self.now + u64::try_from(longest.as_nanos()).unwrap() * 10 / 8;
        self.run_while(|world| {
            world.events.clear();
            world.next_at().is_some_and(|at| at <= end)
        });
        assert!(
            self.nodes.iter().all(|node| node.elector.phase() == ElectorPhase::Stopped),
            "stop returns in a bounded time"
        );
    }

    /// No two nodes may act at this instant. Checked whenever one begins to, or goes on.
    fn overlaps(&self) -> bool {
        let acting =
            |node: &&TestNode| node.monitor.acts_until().is_some_and(|until| self.now < node.clock.when(until));
        self.nodes.iter().filter(acting).count() > 1
    }

    fn run_until(&mut self, end: TrueTime) {
        self.run_while(|world| world.next_at().is_some_and(|at| at <= end));
        self.now = self.now.max(end);
    }

    fn run_while(&mut self, mut go_on: impl FnMut(&mut Self) -> bool) {
        while go_on(self) {
            self.step();
        }
    }

    fn next_at(&self) -> Option<TrueTime> {
        let wakes = (0..self.nodes.len()).filter_map(|node| self.wake_at(node));
        wakes.chain(self.events.keys().map(|(at, _)| *at).next()).min()
    }

    fn wake_at(&self, node: usize) -> Option<TrueTime> {
        let node = &self.nodes[node];
        node.timeout.map(|at| node.clock.when(at).max(node.paused_until).max(self.now))
    }

    fn step(&mut self) {
        let Some(at) = self.next_at() else { return };
        self.now = self.now.max(at);
        let due = self.events.first_entry().filter(|event| event.key().0 <= at);
        // Answers overtake alarms: an elector must not depend on being woken first.
        let Some(event) = due else {
            let node = (0..self.nodes.len()).find(|node| self.wake_at(*node) == Some(at)).unwrap();
            return self.feed(node, Input::Timeout);
        };
        match event.remove() {
            TestEvent::AtStore { node, request } => self.serve(node, &request),
            TestEvent::AtNode { node, input } => {
                let paused_until = self.nodes[node].paused_until;
                if paused_until > self.now {
                    self.schedule(paused_until - self.now, TestEvent::AtNode { node, input });
                } else {
                    self.feed(node, input);
                }
            }
        }
    }

    fn schedule(&mut self, delay: u64, event: TestEvent) {
        self.scheduled += 1;
        self.events.insert((self.now + delay, self.scheduled), event);
    }

    fn crash(&mut self, node: usize) {
        let candidate = self.nodes[node].elector.candidate().clone();
        self.events.retain(|_, event| !matches!(event, TestEvent::AtNode { node: at, .. } if *at == node));
        let node_after = &mut self.nodes[node];
        node_after.elector = Elector::new(candidate);
        node_after.monitor = Monitor::default();
        node_after.paused_until = self.now;
        self.feed(node, Input::Start);
    }

    fn feed(&mut self, index: usize, input: Input) {
        let draw = Draw {
            nonce: Nonce::from_bits(u128::from(self.scheduled) << 64 | u128::from(self.now) << 8 | index as u128),
            spread: u32::try_from(self.tape.next()).unwrap() << 16,
        };
        self.scheduled += 1;
        let node = &mut self.nodes[index];
        let now = node.clock.at(self.now);
        node.monitor.before(now, &input);
        node.elector.handle(now, input, draw);
        let mut outputs = Vec::new();
        node.timeout = loop {
            let output = node.elector.poll_output();
            if let Output::Timeout(at) = output {
                break at;
            }
            outputs.push(output);
        };
        node.monitor.after(now, &node.elector, &outputs, node.timeout);
        node.restless = if node.timeout == Some(now) { node.restless + 1 } else { 0 };
        assert!(node.restless < 4, "it is called again and again without getting anywhere");
        for output in outputs {
            self.carry_out(index, output);
        }
    }

    fn carry_out(&mut self, node: usize, output: Output) {
        match output {
            Output::Send(request) => self.send(node, request),
            Output::Lost { term, .. } => {
                if !self.tape.chance(20) || self.healed {
                    let delay = if self.healed { 0 } else { self.tape.next() * 4_000 * MILLI / 65_536 };
                    self.schedule(delay, TestEvent::AtNode { node, input: Input::WorkEnded { term } });
                }
            }
            Output::KillWork { term } => {
                if !self.tape.chance(20) || self.healed {
                    self.schedule(MILLI, TestEvent::AtNode { node, input: Input::WorkEnded { term } });
                }
            }
            Output::Elected { .. } | Output::Trusted { .. } => {
                assert!(!self.honest || !self.overlaps(), "two candidates act at once");
            }
            Output::Timeout(_) | Output::Observed { .. } | Output::Report(_) | Output::Stopped => (),
        }
    }

    /// A request may be lost, late, executed twice, or known not to have been sent.
    fn send(&mut self, node: usize, request: Request) {
        if self.healed {
            return self.schedule(MILLI, TestEvent::AtStore { node, request });
        }
        if self.tape.chance(5) {
            let input = Input::Reply { request: request.id, reply: failed(&request.verb, WriteOutcome::NotSent) };
            return self.schedule(0, TestEvent::AtNode { node, input });
        }
        if self.tape.chance(10) {
            return;
        }
        if self.tape.chance(5) {
            let delay = self.tape.delay();
            self.schedule(delay, TestEvent::AtStore { node, request: request.clone() });
        }
        let delay = self.tape.delay();
        self.schedule(delay, TestEvent::AtStore { node, request });
    }

    /// Its answer may be lost, late, duplicated, or replaced by a doubt.
    fn serve(&mut self, node: usize, request: &Request) {
        let candidate = self.nodes[node].elector.candidate().id.clone();
        let mut reply = self.store.serve(self.now, &candidate, &request.verb);
        if self.healed {
            let input = Input::Reply { request: request.id, reply };
            return self.schedule(MILLI, TestEvent::AtNode { node, input });
        }
        if self.tape.chance(5) {
            reply = failed(&request.verb, WriteOutcome::Unknown);
        } else if matches!(reply, Reply::Campaign(Ok(CampaignReply::Granted { .. }))) && self.tape.chance(5) {
            reply = failed(&request.verb, WriteOutcome::Unusable);
        }
        let copies = if self.tape.chance(10) {
            0
        } else if self.tape.chance(10) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let delay = self.tape.delay();
            let input = Input::Reply { request: request.id, reply: reply.clone() };
            self.schedule(delay, TestEvent::AtNode { node, input });
        }
    }
}

pub(super) fn failed(verb: &Verb, failure: WriteOutcome) -> Reply {
    match verb {
        Verb::Campaign { .. } => Reply::Campaign(Err(failure)),
        Verb::Renew { .. } => Reply::Renew(Err(failure)),
        Verb::Resign { .. } => Reply::Resign(Err(failure)),
    }
}
