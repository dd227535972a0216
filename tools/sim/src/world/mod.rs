//! One election: candidates, their machines, a network and a store, in true time.

mod crash_release;
mod healing;
mod jobs;
mod limits;
mod line;
mod messages;
mod network;
mod node;
mod process;
mod queue;
mod turmoil;
mod view;
mod work;

use tenure_core::Drift;

use crate::assumption::{Assumption, Broken};
use crate::clock::{Rate, SECOND, SimClock, SimTime};
use crate::fault::FaultClass;
use crate::invariants::{InvariantViolation, Invariants, Occurrence};
use crate::options::SimOptions;
use crate::rng::SimRng;
use crate::store::SimStore;
use crate::tally::{Situation, Tally};
use crate::timeline::Timeline;

use jobs::SimJobs;
pub(crate) use jobs::{ServedJobRequest, SimJobRun};
use limits::RunLimits;
use messages::SimMessages;
pub(crate) use messages::{DeliveryEnd, ServedMail, SimDelivery};
use node::{Machine, SimNode};
pub(crate) use queue::Incarnation;
use queue::{EventQueue, SimEvent};
pub(crate) use view::{View, ledger_rest, nanos};

/// The world of one run.
pub(crate) struct SimWorld {
    now: SimTime,
    options: SimOptions,
    limits: RunLimits,
    machines: Vec<Machine>,
    nodes: Vec<SimNode>,
    store: SimStore,
    /// Until when nobody reaches the store, and whether that is noticed.
    store_down_until: SimTime,
    store_refuses: bool,
    /// Until when the store takes its time, and how much at most.
    store_slow_until: SimTime,
    store_slow_by: u64,
    queue: EventQueue,
    jobs: SimJobs,
    messages: SimMessages,
    rng: SimRng,
    fault_chance: Vec<SimRng>,
    broken: Broken,
    disturbed_at: SimTime,
    /// Until when a message that was hit on its way may make somebody late.
    jolted_at: SimTime,
    /// Whoever the next lease that is released is kept for leaves before it hears of it.
    successor_leaves: bool,
    /// The term of the last holder whose end was seen.
    ended: Option<tenure_core::Term>,
    healed: bool,
    /// Who was elected last.
    leader: Option<queue::Incarnation>,
    /// The newest term that any write carried.
    newest_write: Option<tenure_core::Term>,
    invariants: Invariants,
    tally: Tally,
    timeline: Timeline,
}

/// Why a run ended before its end.
pub(crate) type SimOutcome = Result<(), InvariantViolation>;

impl SimWorld {
    pub(crate) fn new(options: SimOptions, timeline: Timeline) -> Self {
        let mut rng = SimRng::of(options.seed, 1);
        let mut wall_chance = SimJobs::rng(&options);
        let machines = if options.kind.is_remote() { options.candidates.len() } else { 1 };
        // The worst there can be: a fast store, and by turns those who hold on too long and those who come too early.
        let opposed = rng.percent(25);
        let part = |rng: &mut SimRng, slow| match (opposed, slow) {
            (true, true) => -1000,
            (true, false) => 1000,
            (false, _) => part(rng),
        };
        let machines = (0..machines).map(|index| {
            let clock = clock(&mut rng, |rng| part(rng, index % 2 == 0));
            let wall = jobs::wall(options.walls, &mut wall_chance);
            Machine { clock, wall, suspended_until: 0 }
        });
        let machines: Vec<Machine> = machines.collect();
        let nodes = options.candidates.iter().enumerate().map(|(index, contender)| {
            let machine = if options.kind.is_remote() { index } else { 0 };
            SimNode::new(contender.clone(), machine)
        });
        let nodes = nodes.collect();
        let own_clock = options.kind.is_remote().then(|| clock(&mut rng, |rng| part(rng, false)));
        let store = SimStore::new(options.kind, options.mistake, own_clock);
        let streams = (2..).take(FaultClass::ALL.len());
        Self {
            now: SECOND,
            limits: RunLimits::of(&options),
            machines,
            nodes,
            store,
            store_down_until: 0,
            store_refuses: false,
            store_slow_until: 0,
            store_slow_by: 0,
            queue: EventQueue::default(),
            jobs: SimJobs::new(&options, wall_chance),
            messages: SimMessages::new(&options),
            rng,
            fault_chance: streams.map(|stream| SimRng::of(options.seed, stream)).collect(),
            broken: Broken::default(),
            disturbed_at: 0,
            jolted_at: 0,
            successor_leaves: false,
            ended: None,
            healed: false,
            leader: None,
            newest_write: None,
            invariants: Invariants::new(),
            tally: Tally::of_one_run(),
            timeline,
            options,
        }
    }

    /// Turmoil, then peace; ends early with the first promise that is broken.
    pub(crate) fn run(&mut self) -> SimOutcome {
        for node in 0..self.nodes.len() {
            let at = self.now + self.rng.up_to(self.options.latency * 3);
            self.queue.put(at, SimEvent::Restart { node });
        }
        self.schedule_turmoil();
        self.schedule_senders();
        self.run_until(self.now + self.options.turmoil)?;
        self.heal()?;
        self.see(&Occurrence::End)
    }

    pub(crate) fn into_parts(mut self) -> (Tally, Timeline) {
        self.tally.simulated = u128::from(self.now);
        self.tally.whole = u64::from(self.broken == Broken::default());
        (self.tally, self.timeline)
    }

    fn run_until(&mut self, end: SimTime) -> SimOutcome {
        while let Some(at) = self.next_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.tally.events += 1;
            let is_beside = self.step(at)?;
            self.tell_of_ends()?;
            if !is_beside {
                self.see(&Occurrence::Passing)?;
            }
        }
        self.now = self.now.max(end);
        Ok(())
    }

    fn next_at(&self) -> Option<SimTime> {
        let wakes = self.nodes.iter().filter_map(|node| node.wake_at);
        wakes.chain(self.queue.next_at()).min()
    }

    /// Whatever arrives comes before an alarm of the same instant: electors must not depend on being woken first. Returns
    /// whether only jobs or messages were concerned.
    fn step(&mut self, at: SimTime) -> Result<bool, InvariantViolation> {
        if self.queue.next_at().is_some_and(|next| next <= at)
            && let Some(event) = self.queue.take()
        {
            let is_beside = matches!(event, SimEvent::Jobs(_) | SimEvent::Mail(_));
            return self.happen(event).map(|()| is_beside);
        }
        match (0..self.nodes.len()).find(|node| self.nodes[*node].wake_at.is_some_and(|wake| wake <= at)) {
            Some(node) => self.feed(node, tenure_core::Input::Timeout).map(|()| false),
            None => Ok(false),
        }
    }

    fn happen(&mut self, event: SimEvent) -> SimOutcome {
        match event {
            SimEvent::AtStore { from, request, sent } => self.serve(from, &request, sent),
            SimEvent::AtProcess { to, input, sent } => self.deliver(to, input, sent),
            SimEvent::Act { by, term } => self.act_again(by, term),
            SimEvent::Guard { of, term } => self.guard(of, term),
            SimEvent::CrashRelease(lease) => self.send_crash_release(lease),
            SimEvent::WorkEnds { of, term } => self.work_ends(of, term),
            SimEvent::WorkGoesOn { of, term } => self.work_goes_on(of, term),
            SimEvent::Write { by, term } => self.write(by, term),
            SimEvent::Fault(FaultClass::Reload) => {
                self.change_files();
                Ok(())
            }
            SimEvent::Fault(fault) => self.strike(fault),
            SimEvent::Resume { node } => self.resume(node),
            SimEvent::ClockGoesOn { machine } => {
                self.machines[machine].clock.go_on(self.now);
                self.set_alarms();
                self.disturb();
                Ok(())
            }
            SimEvent::Restart { node } => self.start(node),
            SimEvent::Go { of, away, leaves } => self.go(of, away, leaves),
            SimEvent::Recover { of } => self.recover(of),
            SimEvent::Eased => {
                self.disturb();
                Ok(())
            }
            SimEvent::Jobs(event) => self.happen_to_jobs(event),
            SimEvent::Mail(event) => self.happen_to_messages(*event),
        }
    }

    /// Shows what happened to all invariants.
    fn see(&mut self, seen: &Occurrence<'_>) -> SimOutcome {
        let view = View {
            now: self.now,
            disturbed_at: self.disturbed_at,
            jolted_at: self.jolted_at,
            limits: self.limits,
            sees_death: self.options.kind.sees_death(),
            shown: self.store_shows(),
            store_is_well: self.now >= self.store_down_until.max(self.store_slow_until),
            nodes: &self.nodes,
            machines: &self.machines,
            jobs: &self.options.jobs,
            runs: &self.jobs.runs,
            engines: &self.jobs,
            mail: self.options.mail.as_ref(),
            deliveries: &self.messages.deliveries,
            mail_disturbed_at: self.messages.disturbed_at,
            jobs_disturbed_at: self.jobs.disturbed_at,
            wall_set_at: self.jobs.wall_set_at,
            store_wall: self.jobs.wall(&self.machines),
            store: &self.store,
        };
        if let Some(violation) = self.invariants.see(&view, self.broken, seen)? {
            self.tally.saw_unclaimed(&violation);
            self.say(|_| format!("not promised any more: {violation}"));
        }
        Ok(())
    }

    /// Writes a line, if anybody wants to read it.
    fn say(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.timeline.is_kept() {
            let line = line(self);
            self.timeline.add(self.now, line);
        }
    }

    fn disturb(&mut self) {
        self.disturbed_at = self.now;
    }

    fn breaks(&mut self, assumption: Assumption) {
        self.broken.add(assumption);
    }

    fn count(&mut self, situation: Situation) {
        self.tally.count(situation);
    }

    fn name(&self, node: usize) -> String {
        let node = &self.nodes[node];
        format!("{}{}", node.contender.candidate.id, "'".repeat(node.life.saturating_sub(1) as usize))
    }
}

fn clock(rng: &mut SimRng, part: impl FnOnce(&mut SimRng) -> i32) -> SimClock {
    let shown = rng.up_to(1 << 50);
    SimClock::new(shown, Rate::drifting(Drift::ONE_NINTH, part(rng)))
}

/// How wrong a clock is: not at all, as much as is allowed, or something between.
fn part(rng: &mut SimRng) -> i32 {
    match rng.below(4) {
        0 => 0,
        1 => 1000,
        2 => -1000,
        _ => i32::try_from(rng.below(2001)).unwrap_or_default() - 1000,
    }
}
