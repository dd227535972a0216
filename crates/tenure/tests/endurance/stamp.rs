//! A moment, on the two clocks that matter here.

use std::time::{SystemTime, UNIX_EPOCH};

use tenure_testkit::bound::boot_ns;

/// A moment on the clock that all processes of this machine share, and on the wall clock, by which ticks are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) boot_ns: u64,
    pub(crate) unix_ms: u64,
}

impl Stamp {
    pub(crate) fn now() -> Self {
        Self { boot_ns: boot_ns(), unix_ms: unix_ms() }
    }
}

pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
