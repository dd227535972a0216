//! What is fixed about one candidacy.

use std::fmt;
use std::time::Duration;

use crate::election::timing::Timing;
use crate::id::CandidateId;

/// A participant in one election.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// The id, which is a label.
    pub id: CandidateId,
    /// Its durations.
    pub timing: Timing,
    /// Its priority.
    pub priority: Priority,
    /// The interval within which the application must report that it is healthy; without a report it counts as
    /// unhealthy.
    pub health_within: Option<Duration>,
}

/// Priority of a candidate, from 0 to 10. The highest, 10, is the default.
///
/// Every step below the highest waits a little longer on a vacancy before it campaigns, so that it wins only when no
/// candidate of a higher priority is there.
///
/// ```
/// # use tenure_core as tenure;
/// use tenure::Priority;
///
/// assert_eq!(Priority::default(), Priority::MAX);
/// assert!(Priority::new(11).is_none());
/// assert_eq!(Priority::try_from(5_u8).map(Priority::level), Ok(5));
/// assert!(Priority::try_from(-1_i32).unwrap_err().to_string().contains("0 to 10"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The highest.
    pub const MAX: Self = Self(10);
    /// The wait on a vacancy for each step below the highest: a few round trips of a slow store.
    const STEP: Duration = Duration::from_millis(50);

    /// Creates a priority from 0 to 10; `None` above that.
    #[must_use]
    pub const fn new(level: u8) -> Option<Self> {
        if level <= Self::MAX.0 { Some(Self(level)) } else { None }
    }

    /// Returns the number.
    #[must_use]
    pub const fn level(self) -> u8 {
        self.0
    }

    /// Returns the delay before campaigning on a vacancy.
    #[must_use]
    pub fn delay(self) -> Duration {
        Self::STEP * u32::from(Self::MAX.0 - self.0)
    }
}

/// The error for a number that is not a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("priority {level} is out of range; use 0 to {max}", max = Priority::MAX.0)]
pub struct PriorityError {
    level: i64,
}

impl TryFrom<u8> for Priority {
    type Error = PriorityError;

    fn try_from(level: u8) -> Result<Self, PriorityError> {
        Self::new(level).ok_or(PriorityError { level: level.into() })
    }
}

impl TryFrom<i32> for Priority {
    type Error = PriorityError;

    /// What a number in the source code is unless it says otherwise.
    fn try_from(level: i32) -> Result<Self, PriorityError> {
        u8::try_from(level).ok().and_then(Self::new).ok_or(PriorityError { level: level.into() })
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::MAX
    }
}
