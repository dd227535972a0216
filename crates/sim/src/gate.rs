//! The gate that keeps the proof honest: every known mistake has to be caught.

use std::fmt;
use std::time::Duration;

use crate::mistake::Mistake;
use crate::sweep::Sweep;
use crate::tally::grouped;

/// What became of a mistake that was made on purpose.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The mistake.
    pub mistake: Mistake,
    /// Who caught it, if anybody did.
    pub caught: Option<Catch>,
    /// How long that took.
    pub took: Duration,
}

/// How a mistake was caught.
#[derive(Debug, Clone, PartialEq)]
pub enum Catch {
    /// By a run of the simulation.
    Simulation {
        /// The first seed that broke a promise.
        seed: u64,
        /// The promise.
        invariant: &'static str,
        /// In how many of a thousand runs some promise was broken.
        permille: f64,
    },
}

impl Trial {
    /// Makes the mistake in up to `seeds` runs; in all of them, if `keeps_going`.
    #[must_use]
    pub fn hold(mistake: Mistake, seeds: u64, threads: usize, keeps_going: bool) -> Self {
        let sweep = Sweep { first: 0, seeds, threads, mistake: Some(mistake), without: Vec::new(), keeps_going };
        let swept = sweep.run(|_| ());
        let permille = 1_000.0 * swept.violating as f64 / swept.tally.runs.max(1) as f64;
        let caught = swept.violation.map(|(seed, violation)| Catch::Simulation {
            seed,
            invariant: violation.invariant,
            permille,
        });
        Self { mistake, caught, took: swept.took }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.mistake.name();
        let seconds = self.took.as_secs_f64();
        match &self.caught {
            None => write!(f, "{name:<26} SURVIVES, {seconds:.1} s"),
            Some(Catch::Simulation { seed, invariant, permille }) => {
                let seed = grouped(*seed);
                write!(f, "{name:<26} seed {seed:>7} breaks {invariant}; {permille:.1} of 1,000 seeds, {seconds:.1} s")
            }
        }
    }
}
