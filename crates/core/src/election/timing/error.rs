//! Why a timing was refused, with the numbers.

use std::time::Duration;

use super::Timing;

/// A timing that could not keep its promise. The message shows both sides of the inequality and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimingError {
    /// The ttl is outside the supported range.
    #[error("ttl {ttl:?} is out of range: choose one from {min:?} to {max:?}", min = Timing::MIN_TTL, max = Timing::MAX_TTL)]
    TtlOutOfRange {
        /// The ttl that was asked for.
        ttl: Duration,
    },
    /// A duration that must be positive is zero.
    #[error("{what} is zero; give it a positive duration")]
    Zero {
        /// The name of the duration.
        what: &'static str,
    },
    /// One call may take longer than the pause between two renewals.
    #[error(
        "attempt timeout {attempt_timeout:?} is longer than the renewal interval {renew_every:?}; make it at most that"
    )]
    AttemptTooLong {
        /// The timeout of one store call.
        attempt_timeout: Duration,
        /// The renewal interval.
        renew_every: Duration,
    },
    /// Stopping the work takes as long as the lease may be used, or longer: there is no time to lead.
    #[error(
        "grace {grace:?} and reaction {reaction:.3?} leave no time to lead: a lease with a ttl of {ttl:?} may be used for \
         {hold:.3?}; make the two well shorter than that together, or lengthen the ttl"
    )]
    NoTimeToLead {
        /// The lease.
        ttl: Duration,
        /// The time for work to stop.
        grace: Duration,
        /// The longest time a grant may be used.
        hold: Duration,
        /// The bound on our own reaction.
        reaction: Duration,
    },
    /// Not even one failed renewal would be survived.
    #[error("{0}")]
    TooTight(Box<TooTight>),
}

/// The numbers of a timing in which not even one failed renewal would be survived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "ttl {ttl:?} is too short for renew {renew_every:?}: surviving {survives} failed renewal(s) needs \
     {next} * {renew_every:?} * 1.1 + attempt timeout {attempt_timeout:.3?} = {needed:.3?}, but only {usable:.3?} can be \
     used (hold {hold:.3?} - reaction {reaction:.3?} - grace {grace:.3?}); renew more often (at most every \
     {max_renew_every:.3?}), shorten the grace, or lengthen the ttl",
    next = survives + 1
)]
#[non_exhaustive]
pub struct TooTight {
    /// The lease.
    pub ttl: Duration,
    /// The renewal interval.
    pub renew_every: Duration,
    /// The timeout of one store call.
    pub attempt_timeout: Duration,
    /// The number of failed renewals to survive.
    pub survives: u32,
    /// The time needed for that.
    pub needed: Duration,
    /// The time available.
    pub usable: Duration,
    /// The longest time a grant may be used.
    pub hold: Duration,
    /// The bound on this process's own reaction.
    pub reaction: Duration,
    /// The time for work to stop.
    pub grace: Duration,
    /// The longest renewal interval that would do.
    pub max_renew_every: Duration,
}
