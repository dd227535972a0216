//! Policies of a job for ticks that cannot simply fire on time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::request::Act;
use super::tick::Tick;
use crate::backoff::Backoff;
use crate::id::JobName;

/// What to do with ticks that did not fire: there was no leader, the store was unavailable, or the leader that had
/// claimed one [gave it back](super::RunOutcome::NotBegun).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Missed {
    /// Nothing: the job fires at its next tick.
    Skip,
    /// However many were missed, the job fires once, for the latest of them.
    #[default]
    Once,
    /// The job fires once for each of them, in order, one after the other.
    All,
}

/// What to do with a tick while the job's previous run is still going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Overlap {
    /// It is passed over, and counted as skipped. A job that wants [`Missed::All`] leaves out none: its ticks wait for the run
    /// to end, as with [`Queue`](Self::Queue).
    #[default]
    Skip,
    /// It waits for the run to end. Of several that wait, only the latest fires, unless the job wants [`Missed::All`].
    Queue,
    /// It fires beside the run.
    Allow,
}

/// What to do with a run whose leader went away before it ended. Its progress is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interrupted {
    /// It is not run again: a tick fires at most once. What was claimed and surely never begun follows [`Missed`].
    #[default]
    Leave,
    /// The next leader runs it again: for jobs that may run twice, but must not stay half done.
    Again,
}

/// Why a tick was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Passed {
    /// It was missed, and the job's policy no longer runs it.
    Missed,
    /// The previous run was still going.
    Overlap,
    /// It waited for the last run to end, and a later tick took its place.
    Replaced,
    /// The job is not enabled.
    Disabled,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missed => "it was missed",
            Self::Overlap => "the last run still went on",
            Self::Disabled => "the job is not enabled",
            Self::Replaced => "a later one took its place in the queue",
        })
    }
}

impl Passed {
    /// How the tick is claimed: missed ones are counted separately.
    #[must_use]
    pub const fn act(self) -> Act {
        match self {
            Self::Missed => Act::Pass,
            Self::Overlap | Self::Replaced | Self::Disabled => Act::Skip,
        }
    }
}

/// The maximum delay of a retry, unless the job itself sets a longer one.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Everything that a planner needs to know about a job besides its calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPolicy {
    /// The job.
    pub job: JobName,
    /// The policy for missed ticks.
    pub missed: Missed,
    /// The maximum age at which a missed tick is still run.
    pub window: Duration,
    /// The maximum lateness of a tick that still counts as on time.
    pub max_late: Duration,
    /// The policy for ticks during a run.
    pub overlap: Overlap,
    /// The policy for runs that were cut off.
    pub interrupted: Interrupted,
    /// The maximum delay of a tick, so that not all jobs begin at once.
    pub jitter: Duration,
    /// The number of retries of a failed run, for the same tick.
    pub retries: u32,
    /// The delay before the first retry; doubles with each further one.
    pub retry_after: Duration,
    /// Whether the job is enabled. A disabled job passes over its ticks: they are not missed when it is enabled again.
    pub enabled: bool,
}

impl JobPolicy {
    /// What most jobs want: a missed tick fires once within a day, runs do not overlap, and nothing is run twice.
    #[must_use]
    pub fn new(job: JobName) -> Self {
        Self {
            job,
            missed: Missed::default(),
            window: Duration::from_secs(24 * 60 * 60),
            max_late: Duration::from_secs(1),
            overlap: Overlap::default(),
            interrupted: Interrupted::default(),
            jitter: Duration::ZERO,
            retries: 0,
            retry_after: Duration::from_secs(30),
            enabled: true,
        }
    }

    /// Whether it may run ticks that were claimed and [never started](super::RunOutcome::NotBegun): all of them if it
    /// wants all missed or interrupted ones, otherwise the latest, unless it wants no late ones.
    #[must_use]
    pub fn wants_unbegun(&self) -> bool {
        self.enabled && (self.missed != Missed::Skip || self.interrupted == Interrupted::Again)
    }

    /// The delay before the next retry of a run that was retried `retried` times; `None` if there are no retries left.
    /// It doubles each time, up to [`MAX_RETRY_AFTER`] or the job's own delay if that is longer.
    #[must_use]
    pub fn next_retry(&self, retried: u32) -> Option<Duration> {
        let backoff = Backoff::new(self.retry_after, MAX_RETRY_AFTER.max(self.retry_after));
        (retried < self.retries).then(|| backoff.ceiling(retried.saturating_add(1)))
    }

    /// Whether a tick that cannot begin beside a run waits for its end, instead of being passed over.
    #[must_use]
    pub fn waits_its_turn(&self) -> bool {
        self.overlap != Overlap::Skip || self.missed == Missed::All
    }

    /// The time at which a tick fires, in milliseconds since the Unix epoch. The jitter is derived from the job and
    /// the tick, so it is the same for every leader.
    #[must_use]
    pub fn due_ms(&self, tick: Tick) -> u64 {
        let spread = u64::try_from(self.jitter.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        tick.unix_ms().saturating_add(scatter(self.job.as_str(), tick) % spread)
    }
}

/// A number that looks random and is always the same: FNV-1a, and the last steps of `SplitMix64` to mix it well.
fn scatter(job: &str, tick: Tick) -> u64 {
    let bytes = job.bytes().chain(tick.unix_s().to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The error for a text that names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {text:?}; use {known}")]
pub struct UnknownPolicy {
    text: String,
    known: &'static str,
}

macro_rules! named {
    ($policy:ident, $known:literal, $($variant:ident = $name:literal),+) => {
        impl FromStr for $policy {
            type Err = UnknownPolicy;

            fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(UnknownPolicy { text: text.chars().take(40).collect(), known: $known }),
                }
            }
        }

        impl fmt::Display for $policy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $name,)+
                })
            }
        }
    };
}

named!(Missed, "`skip`, `once` or `all`", Skip = "skip", Once = "once", All = "all");
named!(Overlap, "`skip`, `queue` or `allow`", Skip = "skip", Queue = "queue", Allow = "allow");
named!(Interrupted, "`leave` or `again`", Leave = "leave", Again = "again");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_read_as_it_is_shown() {
        for policy in [Missed::Skip, Missed::Once, Missed::All] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for policy in [Overlap::Skip, Overlap::Queue, Overlap::Allow] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        for policy in [Interrupted::Leave, Interrupted::Again] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        let error = "sometimes".parse::<Missed>().unwrap_err();
        assert_eq!(error.to_string(), "unknown value \"sometimes\"; use `skip`, `once` or `all`");
    }

    #[test]
    fn what_failed_is_tried_again_after_twice_as_long_each_time() {
        let policy = |retries, retry_after| JobPolicy {
            retries,
            retry_after: Duration::from_secs(retry_after),
            ..JobPolicy::new(JobName::new("report").unwrap())
        };
        let waits = |policy: JobPolicy| -> Vec<u64> {
            (0..).map_while(|retried| policy.next_retry(retried)).map(|wait| wait.as_secs()).collect()
        };
        assert_eq!(waits(policy(0, 30)), [0_u64; 0]);
        assert_eq!(waits(policy(3, 30)), [30, 60, 120]);
        assert_eq!(waits(policy(4, 1_000)), [1_000, 2_000, 3_600, 3_600], "an hour is enough");
        assert_eq!(waits(policy(2, 10_000)), [10_000, 10_000], "unless the job says more");
        assert_eq!(policy(u32::MAX, 1).next_retry(40), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn jitter_is_the_same_for_everybody_and_within_its_bound() {
        let policy = |name: &str, jitter| JobPolicy {
            jitter: Duration::from_secs(jitter),
            ..JobPolicy::new(JobName::new(name).unwrap())
        };
        let delays = |policy: &JobPolicy| -> Vec<u64> {
            (0..100).map(Tick::from_unix_s).map(|tick| policy.due_ms(tick) - tick.unix_ms()).collect()
        };
        assert_eq!(delays(&policy("report", 0)), [0; 100]);
        let (one, other) = (delays(&policy("report", 60)), delays(&policy("payout", 60)));
        assert_eq!(one, delays(&policy("report", 60)));
        assert_ne!(one, other, "another job is due at other moments");
        assert!(one.iter().all(|delay| *delay <= 60_000), "{one:?}");
        assert!(one.iter().any(|delay| *delay < 20_000) && one.iter().any(|delay| *delay > 40_000), "{one:?}");
    }
}
