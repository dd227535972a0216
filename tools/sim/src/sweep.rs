//! Many seeds, on all cores.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fault::FaultClass;
use crate::invariants::InvariantViolation;
use crate::mistake::Mistake;
use crate::options::SimOptions;
use crate::run::run;
use crate::tally::{Tally, grouped};

/// Which runs to do.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// On how many threads.
    pub threads: usize,
    /// The mistake that is made in all of them.
    pub mistake: Option<Mistake>,
    /// The faults that are left out in all of them.
    pub without: Vec<FaultClass>,
    /// Whether to go on when a promise was broken.
    pub keeps_going: bool,
}

/// What came of them.
#[derive(Debug, Clone, Default)]
pub struct Swept {
    /// What happened, counted.
    pub tally: Tally,
    /// The lowest seed whose run broke a promise, and which.
    pub violation: Option<(u64, InvariantViolation)>,
    /// How many runs broke which.
    pub broken: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub took: Duration,
}

/// Seeds that a thread takes at a time.
const CHUNK: u64 = 32;
/// How often somebody is told how far it is.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

impl Sweep {
    /// What a seed means here.
    #[must_use]
    pub fn options(&self, seed: u64) -> SimOptions {
        SimOptions::of(seed).without(&self.without).making(self.mistake)
    }

    /// Runs all seeds, or until a promise is broken.
    pub fn run(&self, mut progress: impl FnMut(&Swept)) -> Swept {
        let started = Instant::now();
        let sum = Mutex::new(Swept::default());
        let (next, running, broken) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                running.fetch_add(1, Ordering::Relaxed);
                scope.spawn(|| {
                    while !broken.load(Ordering::Relaxed)
                        && let Some(chunk) = self.chunk(&next)
                    {
                        let swept = self.run_chunk(chunk);
                        broken.fetch_or(swept.violation.is_some() && !self.keeps_going, Ordering::Relaxed);
                        if let Ok(mut sum) = sum.lock() {
                            sum.add(swept);
                        }
                    }
                    running.fetch_sub(1, Ordering::Relaxed);
                });
            }
            while running.load(Ordering::Relaxed) > 0 {
                thread::sleep(PROGRESS_EVERY.min(started.elapsed() + Duration::from_millis(1)));
                if let Ok(mut sum) = sum.lock() {
                    sum.took = started.elapsed();
                    progress(&sum);
                }
            }
        });
        let mut swept = sum.into_inner().unwrap_or_default();
        swept.took = started.elapsed();
        swept
    }

    fn chunk(&self, next: &AtomicU64) -> Option<std::ops::Range<u64>> {
        let start = next.fetch_add(CHUNK, Ordering::Relaxed);
        (start < self.seeds).then(|| self.first + start..self.first + self.seeds.min(start + CHUNK))
    }

    fn run_chunk(&self, seeds: std::ops::Range<u64>) -> Swept {
        let mut swept = Swept::default();
        for seed in seeds {
            let options = self.options(seed);
            match catch_unwind(AssertUnwindSafe(|| run(&options))) {
                Ok(run) => {
                    swept.tally += &run.tally;
                    swept.note(seed, run.violation);
                }
                Err(_) => {
                    let message = "it panicked; the message is above".to_owned();
                    swept.note(seed, Some(InvariantViolation { invariant: "no-panic", message, at: 0 }));
                }
            }
        }
        swept
    }
}

impl Swept {
    /// How many seeds a second.
    #[must_use]
    pub fn seeds_per_second(&self) -> f64 {
        self.tally.runs as f64 / self.took.as_secs_f64().max(0.001)
    }

    /// How many years all runs would have taken.
    #[must_use]
    pub fn years(&self) -> f64 {
        self.tally.simulated as f64 / 1e9 / (365.25 * 86_400.0)
    }

    /// One line about all of it.
    #[must_use]
    pub fn summary(&self) -> String {
        let verdict = match &self.violation {
            None => "no violation".to_owned(),
            Some((seed, violation)) => format!("seed {seed} breaks {}", violation.invariant),
        };
        format!(
            "sim: {} seeds, {:.2} simulated years, {} events, {} takeovers, {verdict}, {:.1} s ({:.0} seeds/s)",
            grouped(self.tally.runs),
            self.years(),
            grouped(self.tally.events),
            grouped(self.tally.of(crate::tally::Situation::Takeover)),
            self.took.as_secs_f64(),
            self.seeds_per_second(),
        )
    }

    fn note(&mut self, seed: u64, violation: Option<InvariantViolation>) {
        if let Some(violation) = violation {
            *self.broken.entry(violation.invariant).or_default() += 1;
            self.violation.get_or_insert((seed, violation));
        }
    }

    fn add(&mut self, other: Self) {
        self.tally += &other.tally;
        for (invariant, count) in other.broken {
            *self.broken.entry(invariant).or_default() += count;
        }
        let lowest = [self.violation.take(), other.violation].into_iter().flatten().min_by_key(|(seed, _)| *seed);
        self.violation = lowest;
    }
}
