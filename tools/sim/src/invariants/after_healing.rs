//! When the faults are over, exactly one comes to lead.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

pub(crate) struct AfterHealing;

impl Invariant for AfterHealing {
    fn name(&self) -> &'static str {
        "after-healing"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        if !matches!(seen, Occurrence::LongHealed) {
            return Ok(());
        }
        match world.nodes().filter(|node| world.is_trusted(*node)).count() {
            1 => Ok(()),
            count => Err(format!("{count} lead although all has been well for a long time")),
        }
    }
}
