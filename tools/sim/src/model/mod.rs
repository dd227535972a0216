//! Every history up to a depth: the real electors, the real rules of a store's record, and a world that does its worst.
//!
//! # What can happen
//! Messages arrive in any order, late, twice, or never: what never arrives is lost. Connections break, so that a candidate
//! hears that it will not hear. Candidates pause and go on, crash and start again, are told to look for no reason, resign,
//! and leave. Work begins when its candidate is elected, ends some time after it was told to stop, and is gone a
//! reaction after it was killed. Each of these is a step of a history, and so is the passing of time. [`Budgets`] bound
//! how often some of them happen.
//!
//! # Time
//! Clocks are as wrong as allowed: that of the store is fast and coarse, that of the first candidate slow, so that a
//! margin that is too small by a millisecond is too small here. Time passes in leaps to an instant that matters: a timer
//! of a candidate, the end of a lease, of a reservation or of a trust, or a beat. Timers that are due on the way fire on
//! the way: only a pause makes anybody late.
//!
//! # What is not covered
//! Instants other than those, more messages under way than a link holds, other durations, clocks whose rates change,
//! chance (no timer is spread), stores that see processes die, health, opportunities, named successors, hand-overs asked
//! for by operators, and whether anybody ever leads. All this is for the random simulation.
//!
//! # Why a search can be believed
//! The number of steps that are left is a part of a state. So what is cut off at the depth does not depend on the order
//! of the search or the number of its threads: every history within the limits is looked at, up to collisions of
//! 64-bit hashes. Two states that differ in nothing but that number count as two.

mod action;
mod clock;
mod judge;
mod laws;
mod options;
mod outputs;
mod report;
mod search;
mod shared;
mod state;
mod step;
mod store;
mod world;

use crate::mistake::{Mistake, ProcessMistake, StoreMistake};

pub use laws::{Law, ModelSituation};
pub use options::{Budgets, ModelOptions};
pub use report::{LawViolation, SearchProgress, SearchReport};

/// Whether the model can be told to make this mistake.
#[must_use]
pub fn can_make(mistake: Mistake) -> bool {
    match mistake {
        #[cfg(mutants)]
        Mistake::Elector(_) => true,
        // All candidates have the same ttl, the store does not crash, and it vouches for what it grants.
        Mistake::Store(
            StoreMistake::ChallengersTtl | StoreMistake::ExpiryForgotten | StoreMistake::GivesBackItself,
        ) => false,
        // It sees nobody die, and nobody has to lead soon.
        Mistake::Store(
            StoreMistake::WakesTwo
            | StoreMistake::NothingPassedOn
            | StoreMistake::TwoWatch
            | StoreMistake::DeathIsAnyones,
        ) => false,
        // Clocks do not stop.
        Mistake::Process(ProcessMistake::ClockStopsInSuspend) => false,
        // There are no jobs.
        Mistake::Ledger(_) | Mistake::Job(_) | Mistake::Mailbox(_) | Mistake::Message(_) => false,
        #[cfg(mutants)]
        Mistake::Engine(_) | Mistake::Inbox(_) => false,
        Mistake::Store(_) | Mistake::Process(_) => true,
    }
}

/// Searches until everything within the limits is seen, or a law is broken. Tells about once a second how far it is.
/// A violation is told as shortly as can be: by a history with no more steps than it takes.
///
/// # Panics
/// When asked to make a mistake that it [cannot make](can_make): nothing would be proved by not noticing it.
pub fn check(options: &ModelOptions, mut progress: impl FnMut(&SearchProgress)) -> SearchReport {
    assert!(options.mistake.is_none_or(can_make), "the model cannot make this mistake");
    let report = search::run(options, &mut progress);
    let Some(first) = &report.violation else { return report };
    let shallower = (1..first.steps).map(|depth| ModelOptions { depth, ..options.clone() });
    let shortest = shallower.into_iter().find_map(|options| search::run(&options, &mut progress).violation);
    SearchReport { violation: shortest.or_else(|| report.violation.clone()), ..report }
}
