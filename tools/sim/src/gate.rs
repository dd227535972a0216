//! The gate that keeps the proof honest: every known mistake has to be caught, and every invariant has to catch one.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::invariants::Invariants;
use crate::mistake::Mistake;
use crate::sweep::{Sweep, Swept};
use crate::tally::grouped;

/// What became of a mistake that was made on purpose.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The mistake.
    pub mistake: Mistake,
    /// The first seed that caught it, and the promise that it broke.
    pub caught: Option<(u64, &'static str)>,
    /// In how many runs it broke which promise first.
    pub broken: BTreeMap<&'static str, u64>,
    /// In how many runs it was made.
    pub runs: u64,
    /// How long they took.
    pub took: Duration,
}

impl Trial {
    /// Makes the mistake in `seeds` runs; if it goes unnoticed, in up to `max_seeds`.
    #[must_use]
    pub fn hold(mistake: Mistake, seeds: u64, max_seeds: u64, threads: usize) -> Self {
        let sweep = Sweep { first: 0, seeds, threads, mistake: Some(mistake), without: Vec::new(), keeps_going: true };
        let mut swept = sweep.run(|_| ());
        if swept.violation.is_none() && seeds < max_seeds {
            swept = Sweep { seeds: max_seeds, keeps_going: false, ..sweep }.run(|_| ());
        }
        let Swept { tally, violation, broken, took } = swept;
        let caught = violation.map(|(seed, violation)| (seed, violation.invariant));
        Self { mistake, caught, broken, runs: tally.runs, took }
    }
}

/// The invariants that none of these mistakes broke: for all we know they cannot fail.
#[must_use]
pub fn toothless(trials: &[Trial]) -> Vec<&'static str> {
    let bites = |name: &&str| trials.iter().any(|trial| trial.broken.contains_key(name));
    Invariants::names().into_iter().filter(|name| !bites(name)).collect()
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.mistake.name();
        let runs = grouped(self.runs);
        let Some((seed, _)) = self.caught else { return write!(f, "{name:<26} SURVIVES {runs} seeds") };
        let broken: Vec<String> =
            self.broken.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
        write!(f, "{name:<26} seed {:>5}; of {runs}: {}", grouped(seed), broken.join(", "))
    }
}
