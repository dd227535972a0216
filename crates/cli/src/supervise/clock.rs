//! The clock that both sides of the supervision go by.

use tenure::Clock;
use tenure_core::Instant;

/// Now, on `CLOCK_BOOTTIME`: it is the same in every process of the machine and counts while the machine is suspended.
#[must_use]
pub fn now() -> Instant {
    Clock::boottime().now()
}

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;
