//! The world as invariants see it: everything, and nothing to touch.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::jobs::{Every, MAX_LEDGER_REST, Tick};
use tenure_core::store_rules::mailbox::MailboxRecord;
use tenure_core::store_rules::record::ProcessToken;
use tenure_core::{Elector, Instant, JobName, Nonce, Term, Timing};

use super::jobs::{SimJobRun, SimJobs};
use super::limits::{RunLimits, on_slow_clock};
use super::messages::SimDelivery;
use super::network::life_of;
use super::node::{Machine, SimNode};
use super::queue::Incarnation;
use crate::clock::{MILLI, SimClock, SimTime};
use crate::job::SimJob;
use crate::mail::SimMail;
use crate::options::WorkStyle;
use crate::store::SimStore;

/// The world at one instant.
pub(crate) struct View<'a> {
    pub(crate) now: SimTime,
    /// When something last began or ceased to be wrong.
    pub(crate) disturbed_at: SimTime,
    /// Until when a message that was hit on its way may make somebody late.
    pub(crate) jolted_at: SimTime,
    pub(crate) limits: RunLimits,
    /// Whether the store sees processes die.
    pub(super) sees_death: bool,
    /// What the clock that leases run on shows.
    pub(super) shown: Instant,
    /// Whether everybody who is not cut off is answered.
    pub(crate) store_is_well: bool,
    pub(crate) jobs: &'a [SimJob],
    /// Runs of jobs that go on.
    pub(crate) runs: &'a [SimJobRun],
    pub(crate) mail: Option<&'a SimMail>,
    /// Messages in hand.
    pub(crate) deliveries: &'a [SimDelivery],
    /// When something last went wrong that only messages notice.
    pub(crate) mail_disturbed_at: SimTime,
    /// When something last went wrong that only jobs notice.
    pub(crate) jobs_disturbed_at: SimTime,
    /// When a wall clock was last set.
    pub(crate) wall_set_at: SimTime,
    pub(crate) store_wall: &'a SimClock,
    pub(super) engines: &'a SimJobs,
    pub(super) store: &'a SimStore,
    pub(super) nodes: &'a [SimNode],
    pub(super) machines: &'a [Machine],
}

impl View<'_> {
    pub(crate) fn nodes(&self) -> std::ops::Range<usize> {
        0..self.nodes.len()
    }

    pub(crate) fn others(&self, node: usize) -> impl Iterator<Item = usize> + use<> {
        self.nodes().filter(move |other| *other != node)
    }

    pub(crate) fn name(&self, node: usize) -> &str {
        self.nodes[node].contender.candidate.id.as_str()
    }

    pub(crate) fn life(&self, node: usize) -> u32 {
        self.nodes[node].life
    }

    /// What a candidate's clock shows.
    pub(crate) fn shows(&self, node: usize) -> Instant {
        self.machines[self.nodes[node].machine].clock.at(self.now)
    }

    /// Whether a candidate trusts itself, running or not.
    pub(crate) fn is_trusted(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        node.is_trusted(self.machines[node.machine].clock.at(self.now))
    }

    /// The term under which it trusts itself.
    pub(crate) fn trusts_under(&self, node: usize) -> Option<Term> {
        let term = self.nodes[node].elector.as_ref()?.leads_under()?.0;
        self.is_trusted(node).then_some(term)
    }

    /// What its wall clock shows.
    pub(crate) fn wall_ms(&self, node: usize) -> u64 {
        self.machines[self.nodes[node].machine].wall.at(self.now).as_nanos() / MILLI
    }

    /// What the store's wall clock shows.
    pub(crate) fn store_wall_ms(&self) -> u64 {
        self.store_wall.at(self.now).as_nanos() / MILLI
    }

    /// Whether whoever leads is there, and is answered.
    pub(crate) fn can_fire(&self, node: usize) -> bool {
        self.leads_under(node).is_some() && self.is_answered(node)
    }

    /// Whether it is there, and is answered.
    pub(crate) fn is_answered(&self, node: usize) -> bool {
        let process = &self.nodes[node];
        self.store_is_well && !process.is_cut_off(self.now) && self.now >= process.away_until(self.machines)
    }

    /// When it last stood still, or until when it does.
    pub(crate) fn away_until(&self, node: usize) -> SimTime {
        self.nodes[node].away_until(self.machines)
    }

    /// The term under which it would be told that it leads.
    pub(crate) fn leads_under(&self, node: usize) -> Option<Term> {
        let process = &self.nodes[node];
        process.leads_at(self.machines[process.machine].clock.at(self.now))
    }

    pub(crate) fn lives(&self, of: Incarnation) -> bool {
        let process = &self.nodes[of.node];
        process.life == of.life && process.elector.is_some()
    }

    /// The ticks that the store was given back, and the terms under which they were claimed.
    pub(crate) fn given_back(&self, job: &JobName) -> impl Iterator<Item = (Tick, Term)> {
        self.store.given_back(job)
    }

    /// When a job is due by what its process has taken in; `None` if it does not have the job.
    pub(crate) fn calendar(&self, node: usize, job: usize) -> Option<Every> {
        self.engines.calendar(node, job)
    }

    /// How many editions of the jobs its process has taken in.
    pub(crate) fn editions(&self, node: usize) -> u64 {
        self.engines.editions(node)
    }

    /// The schedule of a job as the store has it.
    pub(crate) fn schedule(&self, job: &JobName) -> Option<&Arc<str>> {
        self.store.schedule(job)
    }

    /// Whether the store knows of a claim under this term, and of nothing that followed.
    pub(crate) fn is_open(&self, job: &JobName, tick: Tick, term: Term) -> bool {
        self.store.is_open(job, tick, term)
    }

    /// Whether the store knows how a run under this term ended.
    pub(crate) fn is_ended(&self, job: &JobName, tick: Tick, term: Term) -> bool {
        self.store.is_ended(job, tick, term)
    }

    /// The messages that the store keeps.
    pub(crate) fn mailbox(&self) -> &MailboxRecord {
        self.store.mailbox()
    }

    /// The ttl of its lease.
    pub(crate) fn ttl(&self, node: usize) -> u64 {
        nanos(self.nodes[node].contender.candidate.timing.ttl())
    }

    /// How long it waits for an answer.
    pub(crate) fn attempt(&self, node: usize) -> u64 {
        nanos(self.nodes[node].contender.candidate.timing.attempt_timeout())
    }

    /// Whether a run really runs, and cannot be excused by having been away.
    pub(crate) fn goes_on(&self, run: &SimJobRun) -> bool {
        let work = self.nodes[run.of.node].work.as_ref();
        let is_covered = work.is_some_and(|work| work.of == run.of && work.term == run.term);
        !is_covered || self.works(run.of.node)
    }

    /// Whether its work runs, and cannot be excused by having been away.
    pub(crate) fn works(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        let machine = &self.machines[node.machine];
        let stands_still = match node.contender.style {
            WorkStyle::Guarded => self.now < machine.suspended_until,
            WorkStyle::Library => self.now < node.away_until(self.machines),
        };
        node.work.as_ref().is_some_and(|work| !stands_still && self.now >= work.excused_until)
    }

    /// The term of the work that its process has not seen end.
    pub(crate) fn works_under(&self, node: usize) -> Option<Term> {
        let node = &self.nodes[node];
        node.work.as_ref().filter(|work| work.of.life == node.life).map(|work| work.term)
    }

    /// Whether work of this process under this term goes on, whether or not the process does.
    pub(crate) fn works_as(&self, node: usize, life: u32, term: Term) -> bool {
        self.nodes[node].work.as_ref().is_some_and(|work| work.of.life == life && work.term == term)
    }

    /// Whether it could lead if it were elected.
    pub(crate) fn is_healthy(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        self.store_is_well
            && node.is_following()
            && !node.is_ill
            && !node.is_cut_off(self.now)
            && self.now >= node.away_until(self.machines)
    }

    /// Whether everybody waits for its turn, and for nothing else: all has been calm for a while.
    pub(crate) fn is_calm(&self) -> bool {
        self.upset_at() + self.limits.calm < self.now
    }

    /// When something last went wrong, with messages or otherwise.
    pub(crate) fn upset_at(&self) -> SimTime {
        self.disturbed_at.max(self.jolted_at)
    }

    /// What is left of the lease, whoever holds it.
    pub(crate) fn lease_left(&self) -> Duration {
        self.store.lease_left(self.shown)
    }

    /// Whether everybody in line answers, and those who cannot are known to be gone. Nobody answers for a candidacy that was
    /// given up, and whose last request came late.
    pub(crate) fn line_answers(&self) -> bool {
        let answers = |(process, nonce): (ProcessToken, Nonce)| {
            let of = life_of(process);
            if !self.lives(of) {
                return self.sees_death;
            }
            let elector = self.nodes[of.node].elector.as_ref();
            self.is_healthy(of.node) && elector.and_then(Elector::stands_under) == Some(nonce)
        };
        self.store.line(self.shown).all(answers)
    }

    /// Whether one candidate has a higher priority than another, and so comes before it whenever it comes.
    pub(crate) fn has_higher_priority(&self, one: usize, other: usize) -> bool {
        self.nodes[one].contender.candidate.priority > self.nodes[other].contender.candidate.priority
    }

    /// The candidates that stand by and live, the next one first.
    pub(crate) fn line(&self) -> Vec<usize> {
        let lives = self.store.line(self.shown).map(|(process, _)| life_of(process)).filter(|of| self.lives(*of));
        lives.map(|of| of.node).collect()
    }

    /// Whether the store knows that it stands by, or has just granted it the lease.
    pub(crate) fn is_in_line(&self, node: usize) -> bool {
        let nonce = self.nodes[node].elector.as_ref().and_then(Elector::stands_under);
        nonce.is_some_and(|nonce| self.store.is_granted_to(nonce) || self.store.stands_by(nonce, self.shown))
    }

    /// When a candidate that was told to leave at `told` must have left, unless it was away.
    pub(crate) fn leaves_by(&self, node: usize, told: SimTime) -> SimTime {
        let node = &self.nodes[node];
        let timing = &node.contender.candidate.timing;
        let longest = max_leaving(timing);
        told.max(node.away_until(self.machines)).saturating_add(longest)
    }
}

/// An attempt under way, the rest of a hold, and two attempts to release with a pause between, on a slow clock.
fn max_leaving(timing: &Timing) -> u64 {
    let longest = timing.attempt_timeout() * 4 + timing.hold() + timing.reaction() * 4 + timing.renew_every();
    nanos(longest.mul_f64(1.3)) + nanos(Duration::from_secs(1))
}

/// For how long an engine of jobs may leave a store alone that failed, on a slow clock.
pub(crate) fn ledger_rest() -> u64 {
    on_slow_clock(MAX_LEDGER_REST)
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
