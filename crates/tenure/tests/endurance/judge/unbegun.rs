//! Ticks that were claimed, and whose work did not begin.

use std::time::Duration;

use tenure::cron::Missed;

use super::{Evidence, ms};
use crate::journal::{JournalLine, Side};
use crate::observed::{ClaimEnd, ObservedClaim, ObservedJob};
use crate::strike::{Strike, StrikeKind};

/// What became of them.
#[derive(Debug, Default)]
pub(super) struct Unbegun {
    /// Their leader was killed.
    pub(super) lost: usize,
    /// They were given back, and nobody had to run them.
    pub(super) returned: usize,
    /// All others.
    pub(super) unexplained: Vec<String>,
}

/// How long a claim or its answer may be on its way when its leader is killed, or told to leave.
const MAX_ON_ITS_WAY: Duration = Duration::from_secs(2);

impl Evidence {
    /// Whoever lives gives back what it does not begin, and where every tick is wanted the next leader runs it. So only a leader
    /// that was killed may leave a claim of which nothing was told.
    pub(super) fn unbegun(&self, begins: &[&JournalLine], account: &ObservedJob, missed: Missed) -> Unbegun {
        let mut unbegun = Unbegun::default();
        let is_begun = |tick| begins.iter().any(|begin| begin.tick == tick);
        for (tick, claim) in account.last_claims().filter(|(tick, _)| !is_begun(*tick)) {
            match claim.end {
                ClaimEnd::Untold if self.was_killed(claim) => unbegun.lost += 1,
                ClaimEnd::GivenBack if missed != Missed::All || self.nobody_was_left(claim) => unbegun.returned += 1,
                ClaimEnd::GivenBack => {
                    unbegun.unexplained.push(format!("tick {tick} was given back, and not run: {claim:?}"));
                }
                ClaimEnd::Untold | ClaimEnd::Ran => {
                    unbegun.unexplained.push(format!("tick {tick} never began, and nobody was killed: {claim:?}"));
                }
            }
        }
        let kills = self.strikes.iter().filter(|strike| strike.kind == StrikeKind::Kill).count();
        if unbegun.lost > kills {
            unbegun.unexplained.push(format!("{} ticks were lost by {kills} kills", unbegun.lost));
        }
        unbegun
    }

    /// Whether whoever leads has nothing left to run that was given back, and nobody anything to give back.
    pub(crate) fn is_settled(&self, missed: Missed) -> bool {
        let job = missed.to_string();
        let begins = self.lines_of(&job, Side::Begin);
        self.observed
            .jobs
            .get(&job)
            .is_some_and(|account| self.unbegun(&begins, account, missed).unexplained.is_empty())
    }

    fn was_killed(&self, claim: &ObservedClaim) -> bool {
        self.strikes.iter().any(|strike| strike.kind == StrikeKind::Kill && strike.comes_right_after(claim))
    }

    fn nobody_was_left(&self, claim: &ObservedClaim) -> bool {
        self.left_at_unix_ms.is_some_and(|left| claim.at_unix_ms + ms(MAX_ON_ITS_WAY) >= left)
    }
}

impl Strike {
    /// Whether it befell whoever made this claim before the work could begin. The claim may still reach the store after it.
    fn comes_right_after(&self, claim: &ObservedClaim) -> bool {
        let is_on_its_way = claim.at_unix_ms + ms(MAX_ON_ITS_WAY) >= self.from.unix_ms
            && claim.at_unix_ms <= self.done.unix_ms + ms(MAX_ON_ITS_WAY);
        self.candidate == claim.candidate && is_on_its_way
    }
}
