//! The clock that both sides of the supervision go by.

use rustix::time::{ClockId, clock_gettime};
use tenure_core::Instant;

/// Now, on `CLOCK_BOOTTIME`: it is the same in every process of the machine and counts while the machine is suspended.
#[must_use]
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::Boottime);
    // This clock starts at zero and is never negative; if it were, the far future would be the safe reading, since
    // every deadline has then passed.
    let nanos = u64::try_from(time.tv_sec)
        .ok()
        .zip(u64::try_from(time.tv_nsec).ok())
        .and_then(|(seconds, nanos)| seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(nanos));
    nanos.map_or(Instant::FAR_FUTURE, Instant::from_nanos)
}

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;
