//! Once all is well again, whoever leads goes on leading.

use tenure_core::LossReason;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Steadiness {
    /// Between the moment in which somebody must lead and the next thing that is done to it.
    is_due: bool,
}

impl Invariant for Steadiness {
    fn name(&self) -> &'static str {
        "steadiness"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::LongHealed => self.is_due = true,
            Occurrence::LeaderKilled | Occurrence::ToldToStop { .. } => self.is_due = false,
            Occurrence::Lost { node, term, reason } if self.is_due && reason != LossReason::Requested => {
                return Err(format!(
                    "{} loses term {term} ({}) although all is well",
                    world.name(node),
                    reason.as_str()
                ));
            }
            _ => (),
        }
        Ok(())
    }
}
