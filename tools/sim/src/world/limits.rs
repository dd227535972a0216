//! How long things may take in one run, in true time: what follows from the timings of its candidates and its network.

use std::time::Duration;

use tenure_core::Timing;
use tenure_core::store_rules::record::RESERVATION;

use super::view::nanos;
use crate::clock::{MILLI, SECOND};
use crate::options::SimOptions;
use crate::store::SimStore;

/// Worked out once: invariants ask for them at every event.
#[derive(Clone, Copy)]
pub(crate) struct RunLimits {
    /// Until somebody leads when nothing new goes wrong: a lease that nobody uses, another that a candidate took and could not
    /// hear of, and some time to notice.
    pub(crate) patience: u64,
    /// Until somebody leads after a leader died, when all else is well: what the timing predicts, with what the kind of store
    /// and the network add.
    pub(crate) failover: u64,
    /// For how long nothing must have gone wrong for everybody to wait for nothing but its turn: an attempt that nobody
    /// answers, and the pause after it.
    pub(crate) calm: u64,
    /// Until somebody leads when the leader has gone and those next in line do not answer: two reservations on a slow clock, and
    /// what everybody needs to look.
    pub(crate) succession: u64,
    /// The same when all of them answer: those of the lowest priority wait 150 ms longer, those behind others a few steps of
    /// 5 ms, alarms ring late, and some answers are slow.
    pub(crate) prompt: u64,
}

impl RunLimits {
    pub(super) fn of(options: &SimOptions) -> Self {
        let longest = |of: &dyn Fn(&Timing) -> Duration| {
            let timings = options.candidates.iter().map(|contender| &contender.candidate.timing);
            timings.map(of).max().unwrap_or_default()
        };
        let ttl = options.max_ttl();
        let lease = SimStore::max_lease(options.kind, ttl);
        let slow = longest(&|timing| timing.reaction() * 2 + timing.attempt_timeout());
        let prompt = 250 * MILLI + nanos(slow) + 10 * options.latency;
        let predicted = longest(&|timing| timing.predict(2).max_failover) + lease.saturating_sub(ttl);
        Self {
            patience: nanos(lease * 3) + 5 * SECOND,
            // The followers' clocks may be slow, too, and those of the lowest priority wait 150 ms longer.
            failover: on_slow_clock(predicted) + SECOND / 5 + 4 * options.latency,
            calm: on_slow_clock(longest(&|timing| timing.attempt_timeout() * 2 + timing.renew_every())),
            succession: on_slow_clock(RESERVATION * 2) + prompt,
            prompt,
        }
    }
}

/// How much true time passes while the slowest clock that is allowed counts this.
pub(super) fn on_slow_clock(counted: Duration) -> u64 {
    nanos(counted.mul_f64(9.0 / 8.0))
}
