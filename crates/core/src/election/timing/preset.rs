//! Timings with a name, and the numbers behind every derived duration.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::Timing;

/// The numbers that derive a [`Timing`] from a ttl, each with its reason.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Defaults {
    /// How many renewals in a row may fail: one lost packet and one restart of the store, without a change of leader.
    pub survives: u32,
    /// The grace is the ttl divided by this: long enough to finish an item, short enough not to dominate a failover.
    pub grace_per_ttl: u32,
    /// The reaction bound is the ttl divided by this: an idle machine needs a few milliseconds, a busy one more.
    pub reaction_per_ttl: u32,
    /// The reaction bound is at most this: a machine that needs longer is not running.
    pub max_reaction: Duration,
}

/// The one place where defaults are written down.
pub const DEFAULTS: Defaults =
    Defaults { survives: 2, grace_per_ttl: 10, reaction_per_ttl: 30, max_reaction: Duration::from_millis(200) };

/// A timing by name.
///
/// ```
/// use std::time::Duration;
/// # use tenure_core as tenure;
/// use tenure::Preset;
///
/// assert_eq!("fast".parse::<Preset>()?.timing().ttl(), Duration::from_secs(15));
/// # Ok::<(), tenure::UnknownPreset>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Preset {
    /// A ttl of 15 s: a crash is noticed soon, a store outage of several seconds is survived.
    Fast,
    /// A ttl of 30 s: the default.
    #[default]
    Normal,
    /// A ttl of 90 s: for networks that fail for half a minute at a time.
    Patient,
}

/// There is no preset of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {0:?}; choose fast (ttl 15 s), normal (30 s) or patient (90 s)")]
pub struct UnknownPreset(String);

impl Preset {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Normal, Self::Patient];

    /// The durations.
    ///
    /// # Panics
    /// Never: a test builds every preset.
    #[must_use]
    pub fn timing(self) -> Timing {
        Timing::from_ttl(self.ttl()).expect("a preset is valid")
    }

    /// The name, as it is written on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Patient => "patient",
        }
    }

    const fn ttl(self) -> Duration {
        match self {
            Self::Fast => Duration::from_secs(15),
            Self::Normal => Duration::from_secs(30),
            Self::Patient => Duration::from_secs(90),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == text).ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}
