//! The jobs of one run: when they are due, what they want, how long they take, and how wrong wall clocks are.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use tenure_core::JobName;
use tenure_core::cron::{Every, Interrupted, Missed, Overlap, Policy};

use crate::chance::Chance;
use crate::clock::{MILLI, SECOND};
use crate::kind::Kind;

/// One job.
#[derive(Debug, Clone)]
pub struct Job {
    /// What it wants.
    pub policy: Policy,
    /// When it is due.
    pub calendar: Every,
    /// How long a run takes at most, in nanoseconds.
    pub lasts: u64,
}

/// How far wall clocks are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    /// By some milliseconds.
    Alike,
    /// By some seconds, and they run at rates of their own.
    Apart,
    /// By some minutes.
    Far,
}

/// What is drawn from the stream of its own that jobs have: a run without jobs has the same elections.
pub(crate) const STREAM: u64 = 100;

impl Job {
    /// The jobs of an election at this kind of store. Not every store has a ledger.
    pub(crate) fn all_of(chance: &mut Chance, kind: Kind) -> Vec<Self> {
        let count = if kind == Kind::Quorum { 0 } else { chance.pick(&[1, 1, 2, 3]) };
        (0..count).map(|index| Self::of(chance, index)).collect()
    }

    fn of(chance: &mut Chance, index: u64) -> Self {
        let every = chance.pick(&[1, 2, 3, 5, 10, 20]);
        let name = JobName::new(format!("job-{index}")).expect("letters and a digit are a valid name");
        let policy = Policy {
            missed: chance.pick(&[Missed::Skip, Missed::Once, Missed::All]),
            window: Duration::from_secs(chance.pick(&[3, 20, 86_400])),
            late_max: Duration::from_millis(chance.pick(&[300, 1_000, 1_000, 3_000])),
            overlap: chance.pick(&[Overlap::Skip, Overlap::Queue, Overlap::Allow]),
            interrupted: chance.pick(&[Interrupted::Leave, Interrupted::Again]),
            jitter: Duration::from_millis(chance.pick(&[0, 0, 500, 1_500])),
            enabled: chance.percent(92),
            ..Policy::new(name)
        };
        let period = every * SECOND;
        let lasts = chance.pick(&[50 * MILLI, period / 2, period * 3 / 2, 4 * period]);
        Self { policy, calendar: Every(NonZeroU64::new(every).unwrap_or(NonZeroU64::MIN)), lasts }
    }

    /// The time between two ticks, in nanoseconds.
    pub(crate) fn period(&self) -> u64 {
        self.calendar.0.get() * SECOND
    }

    /// By how much a tick may be late, its jitter included, and still be on time.
    pub(crate) fn patience(&self) -> Duration {
        self.policy.late_max + self.policy.jitter
    }
}

impl Walls {
    pub(crate) fn of(chance: &mut Chance) -> Self {
        chance.pick(&[Self::Alike, Self::Alike, Self::Apart, Self::Apart, Self::Far])
    }

    /// By how much a clock is ahead of true time, or behind it, in nanoseconds.
    pub(crate) fn offset(self, chance: &mut Chance) -> i64 {
        let longest = match self {
            Self::Alike => 20 * MILLI,
            Self::Apart => 5 * SECOND,
            Self::Far => 600 * SECOND,
        };
        let offset = i64::try_from(chance.up_to(longest)).unwrap_or_default();
        if chance.percent(50) { offset } else { -offset }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Policy { job, missed, window, late_max, overlap, interrupted, jitter, enabled, .. } = &self.policy;
        let (period, lasts) = (Duration::from_nanos(self.period()), Duration::from_nanos(self.lasts));
        write!(
            f,
            "{job}: every {period:?} for up to {lasts:?}, missed {missed} within {window:?}, late by {late_max:?}, \
             overlap {overlap}, interrupted {interrupted}, jitter {jitter:?}"
        )?;
        if *enabled { Ok(()) } else { f.write_str(", disabled") }
    }
}
