//! No tick is granted while the store's wall clock is before it by more than is put up with.

use tenure_core::cron::{Claimed, EARLY_MAX};

use super::{Invariant, Seen};
use crate::assumption::Assumption;
use crate::store::{JobReply, JobRequest};
use crate::world::View;

pub(crate) struct NeverEarly;

impl Invariant for NeverEarly {
    fn name(&self) -> &'static str {
        "never-early"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, _: &View<'_>, seen: &Seen<'_>) -> Result<(), String> {
        let Seen::Served(served) = seen else { return Ok(()) };
        let (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) = (served.request, served.reply) else {
            return Ok(());
        };
        match claim.tick.ahead_of(served.store_ms) {
            by if by <= EARLY_MAX => Ok(()),
            by => Err(format!("{} of {} is granted {by:?} before it", claim.tick, claim.job)),
        }
    }
}
