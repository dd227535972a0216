//! Nobody floods the store, whatever happens.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::world::View;

/// A bucket per candidate: every request takes one out, and time fills it again.
#[derive(Default)]
pub(crate) struct Quiet {
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy)]
struct Bucket {
    left: u64,
    at: SimTime,
}

/// Hints may be followed once in ten milliseconds, and nothing else is asked as often.
const PER_SECOND: u64 = 120;
const DEPTH: u64 = 60;

impl Invariant for Quiet {
    fn name(&self) -> &'static str {
        "quiet"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Sent { node, .. } = *seen else { return Ok(()) };
        if self.buckets.len() <= node {
            self.buckets.resize(node + 1, Bucket { left: DEPTH, at: world.now });
        }
        let bucket = &mut self.buckets[node];
        let more = (world.now - bucket.at) * PER_SECOND / SECOND;
        if more > 0 {
            *bucket = Bucket { left: DEPTH.min(bucket.left + more), at: world.now };
        }
        match bucket.left.checked_sub(1) {
            Some(left) => bucket.left = left,
            None => return Err(format!("{} asks the store more than {PER_SECOND} times a second", world.name(node))),
        }
        Ok(())
    }
}
