//! What is the same in all states: candidates, clocks, durations.

use std::time::Duration;

use tenure_core::store_rules::record::Record;
use tenure_core::{
    Candidate, CandidateId, ElectionKey, Elector, Input, NameError, Priority, Term, Timing, TimingError,
};

use super::clock::ModelClock;
use super::laws::Signs;
use super::options::ModelOptions;
use super::shared::Interned;
use super::state::{ModelNode, ModelState};
use super::step::ModelStep;
use crate::mistake::{Mistake, ProcessMistake};
use crate::store::key;
use crate::words::name;

/// The modelled world, apart from what changes in it.
pub(super) struct ModelWorld {
    pub(super) options: ModelOptions,
    pub(super) timing: Timing,
    pub(super) key: ElectionKey,
    pub(super) candidates: Vec<Candidate>,
    pub(super) clocks: Vec<ModelClock>,
    pub(super) store_clock: ModelClock,
}

impl ModelWorld {
    pub(super) fn new(options: &ModelOptions) -> Self {
        let timing = timing().expect("the durations keep the inequality");
        let drift = timing.drift();
        // The store is as fast as allowed. So the first candidate, as slow as allowed, has no margin left at all, and
        // each of the others has some.
        let clocks = [ModelClock::slow(drift), ModelClock::EXACT, ModelClock::fast(drift)];
        Self {
            options: options.clone(),
            timing,
            key: key(),
            candidates: candidates(options.candidates, timing).expect("a letter is a name"),
            clocks: clocks.into_iter().cycle().take(options.candidates.into()).collect(),
            store_clock: ModelClock::of_store(drift),
        }
    }

    /// Everybody has just begun to stand in the election.
    pub(super) fn beginning(&self) -> ModelState {
        let nodes = (0..self.candidates.len()).map(|index| Interned::new(ModelNode::new(self.elector(index))));
        let empty = ModelState {
            now: 0,
            steps_left: self.options.depth,
            left: self.options.budgets.tidied(),
            record: Interned::new(Record::default()),
            nodes: nodes.collect(),
            messages: Vec::new(),
            grant: None,
            elected: None,
            signs: Signs::default(),
        };
        let mut start = ModelStep::from(self, empty);
        for index in 0..self.candidates.len() {
            start.feed(index, Input::Start);
        }
        start.end()
    }

    pub(super) fn elector(&self, index: usize) -> Elector {
        let elector = Elector::new(self.candidates[index].clone());
        match self.options.mistake {
            #[cfg(mutants)]
            Some(Mistake::Elector(mutant)) => elector.mutated(mutant),
            #[cfg(mutants)]
            Some(Mistake::Engine(_) | Mistake::Inbox(_)) => elector,
            Some(
                Mistake::Store(_)
                | Mistake::Process(_)
                | Mistake::Ledger(_)
                | Mistake::Job(_)
                | Mistake::Mailbox(_)
                | Mistake::Message(_),
            )
            | None => elector,
        }
    }

    /// The term under which a candidate would say that it leads, if asked now.
    pub(super) fn trusts(&self, state: &ModelState, index: usize) -> Option<Term> {
        let (term, trust) = state.nodes[index].elector.leads_under()?;
        let holds = self.clocks[index].at(state.now) < trust.until || self.makes(ProcessMistake::CachedAnswer);
        holds.then_some(term)
    }

    pub(super) fn makes(&self, mistake: ProcessMistake) -> bool {
        Mistake::is_process(self.options.mistake, mistake)
    }
}

/// A lease of a few renewals only, and a grace that is longer than the reaction: little happens between two things that
/// matter.
fn timing() -> Result<Timing, TimingError> {
    Timing::builder(Duration::from_secs(9))
        .renew_every(Duration::from_secs(2))
        .attempt_timeout(Duration::from_secs(2))
        .grace(Duration::from_millis(500))
        .reaction(Duration::from_millis(200))
        .build()
}

fn candidates(count: u8, timing: Timing) -> Result<Vec<Candidate>, NameError> {
    let candidate = |index| {
        let id = CandidateId::new(name(index).to_string())?;
        Ok(Candidate { id, timing, priority: Priority::MAX, health_within: None })
    };
    (0..count.into()).map(candidate).collect()
}
