//! One seed, or many.

use crate::fault::Fault;
use crate::invariants::Violation;
use crate::options::Options;
use crate::tally::Tally;
use crate::timeline::Timeline;
use crate::world::World;

/// How a run went.
#[derive(Debug)]
pub struct Run {
    /// What happened, counted.
    pub tally: Tally,
    /// The promise that was not kept.
    pub violation: Option<Violation>,
    /// What happened, line by line; empty unless asked for.
    pub timeline: Timeline,
}

/// Runs it.
#[must_use]
pub fn run(options: &Options) -> Run {
    run_keeping(options, Timeline::default())
}

/// Runs it, and keeps what happened.
#[must_use]
pub fn replay(options: &Options) -> Run {
    run_keeping(options, Timeline::kept())
}

/// Leaves out every class of faults without which the same promise is broken all the same.
#[must_use]
pub fn shrink(options: &Options) -> Options {
    let broken = |options: &Options| run(options).violation.map(|violation| violation.invariant);
    let Some(invariant) = broken(options) else { return options.clone() };
    let mut smallest = options.clone();
    for fault in Fault::ALL {
        let smaller = smallest.clone().without(&[fault]);
        if smaller.faults.len() < smallest.faults.len() && broken(&smaller) == Some(invariant) {
            smallest = smaller;
        }
    }
    smallest
}

fn run_keeping(options: &Options, timeline: Timeline) -> Run {
    let mut world = World::new(options.clone(), timeline);
    let violation = world.run().err();
    let (tally, timeline) = world.into_parts();
    Run { tally, violation, timeline }
}
