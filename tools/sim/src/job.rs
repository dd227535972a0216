//! The jobs of one run: when they are due, what they want, how long they take, and how wrong wall clocks are.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use tenure_core::JobName;
use tenure_core::jobs::{Every, Interrupted, JobPolicy, Missed, Overlap};

use crate::clock::{MILLI, SECOND};
use crate::kind::StoreKind;
use crate::rng::SimRng;

/// One job.
#[derive(Debug, Clone)]
pub struct SimJob {
    /// What it wants.
    pub policy: JobPolicy,
    /// When it is due.
    pub calendar: Every,
    /// How long a run takes at most, in nanoseconds.
    pub lasts: u64,
}

/// How far wall clocks are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WallClockSpread {
    /// By some milliseconds.
    Alike,
    /// By some seconds, and they run at rates of their own.
    Apart,
    /// By some minutes.
    Far,
}

/// The stream of its own that jobs draw from: a run without jobs has the same candidates, clocks and faults.
pub(crate) const STREAM: u64 = 100;

impl SimJob {
    /// The jobs of an election at this kind of store. Not every store has a ledger.
    pub(crate) fn all_of(rng: &mut SimRng, kind: StoreKind) -> Vec<Self> {
        let count = if kind == StoreKind::Quorum { 0 } else { rng.pick(&[1, 1, 2, 3]) };
        (0..count).map(|index| Self::of(rng, index)).collect()
    }

    fn of(rng: &mut SimRng, index: u64) -> Self {
        let every = rng.pick(&[1, 2, 3, 5, 10, 20]);
        let name = JobName::new(format!("job-{index}")).expect("letters and a digit are a valid name");
        let policy = JobPolicy {
            missed: rng.pick(&[Missed::Skip, Missed::Once, Missed::All]),
            window: Duration::from_secs(rng.pick(&[3, 20, 86_400])),
            max_late: Duration::from_millis(rng.pick(&[300, 1_000, 1_000, 3_000])),
            overlap: rng.pick(&[Overlap::Skip, Overlap::Queue, Overlap::Allow]),
            interrupted: rng.pick(&[Interrupted::Leave, Interrupted::Again]),
            jitter: Duration::from_millis(rng.pick(&[0, 0, 500, 1_500])),
            enabled: rng.percent(92),
            ..JobPolicy::new(name)
        };
        let period = every * SECOND;
        let lasts = rng.pick(&[50 * MILLI, period / 2, period * 3 / 2, 4 * period]);
        Self { policy, calendar: Every(NonZeroU64::new(every).unwrap_or(NonZeroU64::MIN)), lasts }
    }

    /// The time between two ticks, in nanoseconds.
    pub(crate) fn period(&self) -> u64 {
        self.calendar.0.get() * SECOND
    }

    /// By how much a tick may be late, its jitter included, and still be on time.
    pub(crate) fn patience(&self) -> Duration {
        self.policy.max_late + self.policy.jitter
    }
}

impl WallClockSpread {
    pub(crate) fn of(rng: &mut SimRng) -> Self {
        rng.pick(&[Self::Alike, Self::Alike, Self::Apart, Self::Apart, Self::Far])
    }

    /// By how much a clock is ahead of true time, or behind it, in nanoseconds.
    pub(crate) fn offset(self, rng: &mut SimRng) -> i64 {
        let longest = match self {
            Self::Alike => 20 * MILLI,
            Self::Apart => 5 * SECOND,
            Self::Far => 600 * SECOND,
        };
        let offset = i64::try_from(rng.up_to(longest)).unwrap_or_default();
        if rng.percent(50) { offset } else { -offset }
    }
}

impl fmt::Display for SimJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JobPolicy { job, missed, window, max_late, overlap, interrupted, jitter, enabled, .. } = &self.policy;
        let (period, lasts) = (Duration::from_nanos(self.period()), Duration::from_nanos(self.lasts));
        write!(
            f,
            "{job}: every {period:?} for up to {lasts:?}, missed {missed} within {window:?}, late by {max_late:?}, \
             overlap {overlap}, interrupted {interrupted}, jitter {jitter:?}"
        )?;
        if *enabled { Ok(()) } else { f.write_str(", disabled") }
    }
}
