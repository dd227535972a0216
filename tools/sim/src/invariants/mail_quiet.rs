//! No inbox floods the store, whatever happens.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::world::View;

/// A bucket per candidate: every call takes one out, and time fills it again.
#[derive(Default)]
pub(crate) struct MailQuiet {
    buckets: Vec<(u64, SimTime)>,
}

/// Nothing is asked as often, but for what a message costs.
const PER_SECOND: u64 = 60;
/// All messages of a run at once.
const DEPTH: u64 = 200;

impl Invariant for MailQuiet {
    fn name(&self) -> &'static str {
        "mail-quiet"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::MailAsked { node } = *seen else { return Ok(()) };
        if self.buckets.len() <= node {
            self.buckets.resize(node + 1, (DEPTH, world.now));
        }
        let (left, at) = &mut self.buckets[node];
        let more = (world.now - *at) * PER_SECOND / SECOND;
        if more > 0 {
            (*left, *at) = (DEPTH.min(*left + more), world.now);
        }
        match left.checked_sub(1) {
            Some(less) => *left = less,
            None => return Err(format!("{} asks the mailbox again and again", world.name(node))),
        }
        Ok(())
    }
}
