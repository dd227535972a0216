//! One seed, or many.

use crate::fault::FaultClass;
use crate::invariants::InvariantViolation;
use crate::options::SimOptions;
use crate::tally::Tally;
use crate::timeline::Timeline;
use crate::world::SimWorld;

/// How a run went.
#[derive(Debug)]
pub struct SimRun {
    /// What happened, counted.
    pub tally: Tally,
    /// The promise that was not kept.
    pub violation: Option<InvariantViolation>,
    /// What happened, line by line; empty unless asked for.
    pub timeline: Timeline,
}

/// Runs it.
#[must_use]
pub fn run(options: &SimOptions) -> SimRun {
    run_keeping(options, Timeline::default())
}

/// Runs it, and keeps what happened.
#[must_use]
pub fn replay(options: &SimOptions) -> SimRun {
    run_keeping(options, Timeline::kept())
}

/// Leaves out every class of faults without which the same promise is broken all the same.
#[must_use]
pub fn shrink(options: &SimOptions) -> SimOptions {
    let broken = |options: &SimOptions| run(options).violation.map(|violation| violation.invariant);
    let Some(invariant) = broken(options) else { return options.clone() };
    let mut smallest = options.clone();
    for fault in FaultClass::ALL {
        let smaller = smallest.clone().without(&[fault]);
        if smaller.faults.len() < smallest.faults.len() && broken(&smaller) == Some(invariant) {
            smallest = smaller;
        }
    }
    smallest
}

fn run_keeping(options: &SimOptions, timeline: Timeline) -> SimRun {
    let mut world = SimWorld::new(options.clone(), timeline);
    let violation = world.run().err();
    let (tally, timeline) = world.into_parts();
    SimRun { tally, violation, timeline }
}
