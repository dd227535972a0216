//! No tick is granted or decided while the store's wall clock is before it by more than is put up with.

use tenure_core::jobs::{Claimed, MAX_EARLY};

use super::{Invariant, Occurrence};
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

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Served(served) = seen else { return Ok(()) };
        for ((before, after), job) in served.before.iter().zip(served.after).zip(world.jobs) {
            if let Some(mark) = after.filter(|_| after > before)
                && mark.ahead_of(served.store_ms) > MAX_EARLY
            {
                return Err(format!("the mark of {} is put at {mark}, which is still to come", job.policy.job));
            }
        }
        let (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) = (served.request, served.reply) else {
            return Ok(());
        };
        match claim.tick.ahead_of(served.store_ms) {
            by if by <= MAX_EARLY => Ok(()),
            by => Err(format!("{} of {} is granted {by:?} before it", claim.tick, claim.job)),
        }
    }
}
