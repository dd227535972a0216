//! How far to look.

use std::time::Duration;

use crate::mistake::Mistake;

/// What is searched: every history of so many candidates with at most so many steps, within these limits.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// How many stand in the election.
    pub candidates: u8,
    /// Steps of a history: arrivals, faults, decisions of an application, and leaps in time. What must happen before time
    /// can go on is not a step.
    pub depth: u8,
    /// Histories end at this true time.
    pub horizon: Duration,
    /// Time can leap to any multiple of this, whatever else there is to leap to.
    pub beat: Duration,
    /// Messages under way between one candidate and the store.
    pub link: usize,
    /// How much may go wrong.
    pub budgets: Budgets,
    /// Threads that search.
    pub threads: usize,
    /// A mistake to be made on purpose; it must be one that [`can_make`](super::can_make) knows.
    pub mistake: Option<Mistake>,
}

/// How often each thing may happen in one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budgets {
    /// Duplicates, breaks, pauses, crashes and hints together.
    pub faults: u8,
    /// Messages that arrive twice.
    pub duplicates: u8,
    /// Connections that break, so that a candidate hears that it will not hear. Silent losses are not counted: whatever
    /// never arrives was lost.
    pub breaks: u8,
    /// Pauses of a candidate.
    pub pauses: u8,
    /// Crashes, each with a restart.
    pub crashes: u8,
    /// Hints out of nowhere.
    pub hints: u8,
    /// Resignations.
    pub resignations: u8,
    /// Candidates that leave.
    pub departures: u8,
}

/// Deep enough to see every situation that must be seen once, with one fault of any kind.
impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            candidates: 2,
            depth: 9,
            horizon: Duration::from_secs(20),
            beat: Duration::from_secs(3),
            link: 2,
            budgets: Budgets::default(),
            threads: 2,
            mistake: None,
        }
    }
}

impl Default for Budgets {
    fn default() -> Self {
        Self { faults: 1, duplicates: 1, breaks: 1, pauses: 1, crashes: 1, hints: 1, resignations: 1, departures: 0 }
    }
}

impl Budgets {
    /// Nothing goes wrong.
    pub const NONE: Self =
        Self { faults: 0, duplicates: 0, breaks: 0, pauses: 0, crashes: 0, hints: 0, resignations: 0, departures: 0 };

    /// Takes one fault of a kind, which must be left.
    pub(super) fn spend(&mut self, kind: fn(&mut Self) -> &mut u8) {
        self.faults -= 1;
        *kind(self) -= 1;
        *self = self.tidied();
    }

    /// Without faults it does not matter of which kinds they would have been.
    pub(super) fn tidied(self) -> Self {
        let Self { faults, resignations, departures, .. } = self;
        if faults > 0 { self } else { Self { resignations, departures, ..Self::NONE } }
    }
}
