//! Raw round trips, and a resignation until the next one leads beside a bare push and acquisition.

use std::error::Error;

use tenure_testkit::redis::RedisServer;

use super::wire::{Ping, RedisWire};
use crate::figures::Bench;
use crate::floor::HandoverFloor;
use crate::handover::{CANDIDATES, Candidates, Contestant, IDLE, TTL, take_turns};
use crate::locks::Holders;
use crate::stats::Samples;

pub(super) fn run(bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    eprintln!("hand-overs in one process: {} of each kind", scale.handovers);
    let server = RedisServer::start();
    let mut ping = Ping(RedisWire::open(&server.url())?);
    let mut hot = Samples::default();
    for _ in 0..scale.pings {
        hot.push_micros(ping.once()?);
    }
    let mut floor = HandoverFloor::raise(&server.url())?;
    let mut ours = Candidates::raise(&server.url(), TTL, CANDIDATES)?;
    let mut locks = Holders::raise(&server.url(), TTL)?;
    // The first ones bring their scripts to the server.
    take_turns(1, [&mut floor, &mut ours, &mut locks])?;
    let [rested, floor_us, ours_us, locks_us] =
        take_turns(scale.handovers, [&mut ping, &mut floor, &mut ours, &mut locks])?;
    floor.end()?;
    ours.end();
    locks.end()?;
    table.fact("raw round trip (PING), one after the other", hot.in_micros(), "");
    table.fact(format!("raw round trip after {} ms of rest", IDLE.as_millis()), rested.in_micros(), "");
    table.fact(
        "push and acquisition, bare",
        floor_us.in_micros(),
        format!("{:.1} round trips", floor_us.median() / rested.median()),
    );
    table.ratio(
        "hand-over in one process, resignation to leadership",
        ours_us.in_micros(),
        format!("push and acquisition, p50 {:.0} µs", floor_us.median()),
        ours_us.median() / floor_us.median(),
        1.5,
    );
    table.ratio(
        "hand-over of a lock in one process, release to the next in line",
        locks_us.in_micros(),
        format!("push and acquisition, p50 {:.0} µs", floor_us.median()),
        locks_us.median() / floor_us.median(),
        1.5,
    );
    Ok(())
}
