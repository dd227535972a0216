//! What is fixed about one candidacy.

use std::time::Duration;

use crate::id::CandidateId;
use crate::timing::Timing;

/// One participant of one election.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Its label.
    pub id: CandidateId,
    /// Its durations.
    pub timing: Timing,
    /// Its priority.
    pub priority: Priority,
    /// The application must say that it is well at least this often, or it counts as unwell.
    pub health_within: Option<Duration>,
}

/// Priority of a candidate, from 0 to 10. The highest, 10, is the default.
///
/// Every step below the highest waits a little longer on a vacancy before it campaigns, so that it wins only when no
/// candidate of a higher priority is there.
///
/// ```
/// use tenure_core::Priority;
///
/// assert_eq!(Priority::default(), Priority::MAX);
/// assert!(Priority::new(11).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The highest.
    pub const MAX: Self = Self(10);
    /// How long each step below the highest waits on a vacancy. A few round trips of a slow store.
    const STEP: Duration = Duration::from_millis(50);

    /// A priority from 0 to 10.
    #[must_use]
    pub const fn new(level: u8) -> Option<Self> {
        if level <= Self::MAX.0 { Some(Self(level)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn level(self) -> u8 {
        self.0
    }

    /// How long it waits on a vacancy before it campaigns.
    #[must_use]
    pub fn delay(self) -> Duration {
        Self::STEP * u32::from(Self::MAX.0 - self.0)
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::MAX
    }
}
