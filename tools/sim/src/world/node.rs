//! A candidate: its process, the machine under it, its work, and its line to the store.

use tenure_core::store_rules::record::ProcessWatch;
use tenure_core::{Elector, ElectorPhase, Instant, Nonce, Term};

use super::crash_release::OrphanedLease;
use super::queue::Incarnation;
use crate::clock::{SimClock, SimTime};
use crate::options::SimCandidate;

/// A machine. Candidates of an embedded store share one.
pub(crate) struct Machine {
    pub(crate) clock: SimClock,
    /// By which jobs are due, and nothing else.
    pub(crate) wall: SimClock,
    pub(crate) suspended_until: SimTime,
}

/// One candidate.
pub(crate) struct SimNode {
    pub(crate) contender: SimCandidate,
    pub(crate) machine: usize,
    /// `None` while there is no process.
    pub(crate) elector: Option<Elector>,
    pub(crate) life: u32,
    pub(crate) paused_until: SimTime,
    /// When the elector wants to be called again, on its own clock and in true time.
    pub(crate) timeout: Option<Instant>,
    pub(crate) wake_at: Option<SimTime>,
    /// By how much the alarm rings late.
    pub(crate) lag: u64,
    /// The term that the application was last told it leads under.
    pub(crate) told: Option<Term>,
    /// What it was last granted.
    pub(crate) held: Option<(Nonce, Term)>,
    /// A lease that its process has left behind, until its work is gone as well.
    pub(crate) orphaned: Option<OrphanedLease>,
    pub(crate) work: Option<SimWork>,
    pub(crate) link: SimLink,
    pub(crate) is_ill: bool,
    /// Whose end it waits for.
    pub(crate) watches: Vec<ProcessWatch>,
}

/// Work under a term.
pub(crate) struct SimWork {
    pub(crate) of: Incarnation,
    pub(crate) term: Term,
    /// When it must be gone, on its machine's clock.
    pub(crate) kill_at: Instant,
    /// Until then nobody can blame it: it was away, and has only just come back.
    pub(crate) excused_until: SimTime,
    pub(crate) is_stubborn: bool,
    /// It is being killed.
    pub(crate) is_ending: bool,
    /// It has ended by itself, and the lease is kept for what is still to be told of jobs.
    pub(crate) is_done: bool,
}

impl SimWork {
    pub(crate) fn new(of: Incarnation, term: Term, kill_at: Instant, is_stubborn: bool) -> Self {
        Self { of, term, kill_at, excused_until: 0, is_stubborn, is_ending: false, is_done: false }
    }
}

/// The way between a candidate and the store.
#[derive(Default)]
pub(crate) struct SimLink {
    pub(crate) requests_cut_until: SimTime,
    pub(crate) answers_cut_until: SimTime,
    /// Whoever cannot send knows it.
    pub(crate) refuses: bool,
    /// It talks to a primary that was deposed.
    pub(crate) at_old_primary_until: SimTime,
}

impl SimNode {
    pub(crate) fn new(contender: SimCandidate, machine: usize) -> Self {
        Self {
            contender,
            machine,
            elector: None,
            life: 0,
            paused_until: 0,
            timeout: None,
            wake_at: None,
            lag: 0,
            told: None,
            held: None,
            orphaned: None,
            work: None,
            link: SimLink::default(),
            is_ill: false,
            watches: Vec::new(),
        }
    }

    pub(crate) fn life(&self, node: usize) -> Incarnation {
        Incarnation { node, life: self.life }
    }

    /// Until when it stands still, if it does.
    pub(crate) fn away_until(&self, machines: &[Machine]) -> SimTime {
        self.paused_until.max(machines[self.machine].suspended_until)
    }

    /// Whether it trusts itself at this instant of its own clock.
    pub(crate) fn is_trusted(&self, shown: Instant) -> bool {
        let leads = self.elector.as_ref().and_then(Elector::leads_under);
        leads.is_some_and(|(_, trust)| shown < trust.until)
    }

    /// The term under which an application that asks would be told that it leads.
    pub(crate) fn leads_at(&self, shown: Instant) -> Option<Term> {
        let (term, trust) = self.elector.as_ref()?.leads_under()?;
        (shown < trust.stop_at).then_some(term)
    }

    pub(crate) fn is_following(&self) -> bool {
        self.elector.as_ref().is_some_and(|elector| elector.phase() == ElectorPhase::Following)
    }

    pub(crate) fn is_cut_off(&self, now: SimTime) -> bool {
        now < self.link.requests_cut_until.max(self.link.answers_cut_until).max(self.link.at_old_primary_until)
    }
}
