//! What befalls whoever leads.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::rng::EnduranceRng;
use crate::stamp::Stamp;

/// What befalls a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StrikeKind {
    /// `kill -9`. Another process takes its place after a while.
    Kill,
    /// It stands still, and goes on.
    Pause,
    /// Nothing it sends arrives, and nobody tells it.
    BlackHole,
    /// Its connections are closed, and new ones refused.
    Refused,
    /// What it sends arrives and is done, and it hears nothing of it.
    Deaf,
    /// It leaves as it should, and another one takes its place after a while.
    Leave,
}

impl StrikeKind {
    /// Without a network.
    pub(crate) const OF_PROCESSES: &[Self] = &[Self::Kill, Self::Pause];
    /// With one.
    pub(crate) const OVER_A_NETWORK: &[Self] =
        &[Self::Kill, Self::Kill, Self::Pause, Self::Pause, Self::BlackHole, Self::Refused, Self::Deaf];
    /// Inside one process.
    pub(crate) const OF_THREADS: &[Self] = &[Self::Leave, Self::BlackHole, Self::Refused, Self::Deaf];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "killed",
            Self::Pause => "paused",
            Self::BlackHole => "in a black hole",
            Self::Refused => "refused",
            Self::Deaf => "without answers",
            Self::Leave => "left",
        }
    }

    /// How often each of them is among these.
    pub(crate) fn tally(kinds: impl Iterator<Item = Self>) -> String {
        let mut counts: BTreeMap<Self, usize> = BTreeMap::new();
        kinds.for_each(|kind| *counts.entry(kind).or_default() += 1);
        let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {}", kind.name())).collect();
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
    }

    /// How long it lasts: mostly longer than a lease of three seconds, and sometimes so short that it need not cost one.
    pub(crate) fn lasts(self, rng: &mut EnduranceRng) -> Duration {
        let is_short = matches!(self, Self::Kill | Self::Leave) || rng.once_in(4);
        let ms = if is_short { rng.between(100, 1_500) } else { rng.between(3_500, 6_000) };
        Duration::from_millis(ms)
    }
}

/// What befell whom, and when.
#[derive(Debug, Clone)]
pub(crate) struct Strike {
    pub(crate) kind: StrikeKind,
    pub(crate) candidate: String,
    /// Right before it.
    pub(crate) from: Stamp,
    /// When it had happened: whoever was killed was dead, whoever was paused stood still.
    pub(crate) done: Stamp,
    /// When it was over; with the end of a candidate that is at once.
    pub(crate) until: Stamp,
}
