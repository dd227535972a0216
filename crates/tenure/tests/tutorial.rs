//! The test of docs/tutorial.md, step 6, as a reader would have it in a project.

use std::sync::Arc;

use tenure::testing::{Fault, FaultyStore, VirtualClock};
use tenure::{Client, Clock, MemoryStore};

#[test]
fn a_leader_that_is_cut_off_stops_and_is_replaced() -> Result<(), tenure::Error> {
    // One clock, moved by hand, for the store and for both candidates.
    let hands = VirtualClock::new();
    let clock = Clock::controlled_by(&hands);
    let memory = MemoryStore::with_clock(clock.clone());

    // The first candidate reaches the store through something that can fail; the second directly.
    let flaky = FaultyStore::with_clock(Arc::new(memory.clone()), clock.clone());
    let first = Client::builder().clock(clock.clone()).with_store(flaky.clone())?;
    let second = Client::builder().clock(clock).with_store(Arc::new(memory))?;

    let first = first.election("report")?.candidate().start()?;
    let old = hands.block_on(first.elected())?;
    let second = second.election("report")?.candidate().start()?;

    // From here on nothing the first one sends arrives, and nothing comes back.
    flaky.inject_everywhere(&Fault::BlackHole);
    // Waits for the second one to take over, and moves the clock meanwhile.
    let new = hands.block_on(second.elected())?;

    assert!(!first.is_leader(), "it knows by its clock alone");
    assert!(!old.is_valid());
    assert!(new.term() > old.term());
    hands.block_on(first.stop()); // the store does not answer: without the clock this would wait for ever
    Ok(())
}
