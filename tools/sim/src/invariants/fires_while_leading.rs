//! A job is fired only by a process that trusts itself at that very instant, under the term of the run.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

pub(crate) struct FiresWhileLeading;

impl Invariant for FiresWhileLeading {
    fn name(&self) -> &'static str {
        "fires-while-leading"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::RunBegan(run) = *seen else { return Ok(()) };
        let trusts = world.trusts_under(run.of.node);
        if trusts == Some(run.term) {
            return Ok(());
        }
        let (name, job) = (world.name(run.of.node), &world.jobs[run.job].policy.job);
        Err(format!(
            "{name} fires {} of {job} under term {} while it trusts itself under {trusts:?}",
            run.tick, run.term
        ))
    }
}
