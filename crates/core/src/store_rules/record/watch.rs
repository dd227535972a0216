//! Whose end a stand-by waits for, in stores that see processes die.

use std::time::Duration;

use super::{Moment, ProcessToken, RESERVATION, Record, StandByRecord};
use crate::lease::Nonce;

/// A process whose end concerns a stand-by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessWatch {
    /// The process.
    pub process: ProcessToken,
    /// How long after its end the stand-by looks, because others go first.
    pub after: Duration,
}

/// The number of stand-bys directly before it that a stand-by watches: the nearest, and one more that may take over
/// unnoticed.
pub const WATCHED_BEFORE: usize = 2;
/// A store may count this many candidates before a stand-by, and no more.
pub const MAX_RANK: u32 = 64;
/// Between two of those who look after the same end.
const STEP: Duration = Duration::from_millis(5);

impl Record {
    /// The processes whose end concerns a stand-by with `rank` candidates before it: that of the present or next
    /// leader, and those of the two directly before it. So however many end, and in whatever order, the next in line
    /// notices: the two before it may lead by now without its knowledge, and if they only stand still it still sees
    /// the leader die.
    ///
    /// The nearest one's end it follows up at once. All others see the leader's, too: each looks a moment after the one
    /// before it, and nobody later than a reservation.
    #[must_use]
    pub fn watches(&self, nonce: Nonce, rank: u32, at: &Moment<'_>) -> Vec<ProcessWatch> {
        let Some(own) = self.standing_by.iter().find(|stand_by| stand_by.nonce == nonce) else { return Vec::new() };
        let mut watches: Vec<ProcessWatch> = Vec::new();
        let mut add =
            |process: ProcessToken, after: Duration| match watches.iter_mut().find(|watch| watch.process == process) {
                Some(watch) => watch.after = watch.after.min(after),
                None if process != at.process => watches.push(ProcessWatch { process, after }),
                None => {}
            };
        if let Some(leader) = self.leads_or_will() {
            add(leader, after_leader(nonce, rank));
        }
        let mut before: Vec<&StandByRecord> =
            self.standing_by.iter().filter(|stand_by| stand_by.order() < own.order()).collect();
        before.sort_by_key(|stand_by| std::cmp::Reverse(stand_by.order()));
        let alive = before.into_iter().filter(|stand_by| !(at.is_gone)(stand_by.process));
        for (stand_by, after) in alive.take(WATCHED_BEFORE).zip([Duration::ZERO, STEP]) {
            add(stand_by.process, after);
        }
        watches
    }

    fn leads_or_will(&self) -> Option<ProcessToken> {
        let reserved = || {
            let nonce = self.reservation.as_ref()?.nonce?;
            self.standing_by.iter().find(|stand_by| stand_by.nonce == nonce).map(|stand_by| stand_by.process)
        };
        self.lease.as_ref().map(|lease| lease.process).or_else(reserved)
    }
}

/// Each a moment after the one before it. Those at the end, whose place was not counted, spread over what is left of a
/// reservation: their nonces are as good as chance.
fn after_leader(nonce: Nonce, rank: u32) -> Duration {
    let counted = STEP * rank.min(MAX_RANK);
    if rank < MAX_RANK {
        return counted;
    }
    let rest = (RESERVATION - counted).as_micros();
    counted + Duration::from_micros(u64::try_from(nonce.to_bits() % rest).unwrap_or_default())
}
