//! Raw round trips and durable writes, and a resignation until the next one leads beside bare hand-overs.

use std::error::Error;
use std::time::Duration;

use super::blocked::Blocked;
use super::kind::PostgresStoreKind;
use super::server::BenchPostgres;
use super::wire::Repeated;
use crate::figures::Bench;
use crate::floor::HandoverFloor;
use crate::handover::{CANDIDATES, Candidates, Contestant, IDLE, take_turns};
use crate::locks::Holders;
use crate::stats::Samples;

pub(super) fn run(kinds: &[PostgresStoreKind], bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    let server = BenchPostgres::start()?;
    let url = server.url(PostgresStoreKind::Lease);
    let (mut round_trip, mut write) = (Repeated::round_trip(&url)?, Repeated::write(&url)?);
    let hot_round_trip = repeat(scale.pings, &mut round_trip)?;
    let hot_write = repeat(scale.writes, &mut write)?;
    table.fact("raw round trip (SELECT 1), one after the other", hot_round_trip.in_micros(), "");
    table.fact(
        "durable write (UPDATE of one row), one after the other",
        hot_write.in_micros(),
        format!("{:.1} round trips", hot_write.median() / hot_round_trip.median()),
    );
    for &kind in kinds {
        eprintln!("hand-overs in one process{}: {} of each", kind.suffix(), scale.handovers);
        let what = kind.suffix();
        let (mut floor, mut blocked) = (HandoverFloor::raise(&server.url(kind))?, Blocked::raise(&url)?);
        let mut ours = Candidates::raise(&server.url(kind), TTL, CANDIDATES)?;
        let mut locks = Holders::raise(&server.url(kind), TTL)?;
        take_turns(1, [&mut floor, &mut blocked, &mut ours, &mut locks])?;
        let [trip_us, write_us, floor_us, blocked_us, ours_us, locks_us] = take_turns(
            scale.handovers,
            [&mut round_trip, &mut write, &mut floor, &mut blocked, &mut ours, &mut locks],
        )?;
        floor.end()?;
        ours.end();
        locks.end()?;
        let rest = format!("after {} ms of rest, in turns with hand-overs{what}", IDLE.as_millis());
        table.fact(format!("raw round trip {rest}"), trip_us.in_micros(), "");
        table.fact(format!("durable write {rest}"), write_us.in_micros(), "");
        let writes = |samples: &Samples| {
            let (trips, writes) = (samples.median() / trip_us.median(), samples.median() / write_us.median());
            format!("{trips:.1} round trips, {writes:.1} durable writes")
        };
        table.fact(format!("push and acquisition, bare{what}"), floor_us.in_micros(), writes(&floor_us));
        table.fact(format!("blocked advisory lock, bare{what}"), blocked_us.in_micros(), writes(&blocked_us));
        table.ratio(
            format!("hand-over in one process at a ttl of {} s, resignation to leadership{what}", TTL.as_secs()),
            format!("{}, {}", ours_us.in_micros(), writes(&ours_us)),
            format!(
                "push and acquisition, p50 {:.0} µs; blocked lock, p50 {:.0} µs: {:.2} times; {}: {}",
                floor_us.median(),
                blocked_us.median(),
                ours_us.median() / blocked_us.median(),
                kind.older().name,
                kind.older().handover
            ),
            ours_us.median() / floor_us.median(),
            1.5,
        );
        table.ratio(
            format!("hand-over of a lock in one process, release to the next in line{what}"),
            format!("{}, {}", locks_us.in_micros(), writes(&locks_us)),
            format!("push and acquisition, p50 {:.0} µs", floor_us.median()),
            locks_us.median() / floor_us.median(),
            1.5,
        );
    }
    Ok(())
}

fn repeat(count: usize, contestant: &mut dyn Contestant) -> Result<Samples, Box<dyn Error>> {
    let mut samples = Samples::default();
    for _ in 0..count {
        samples.push_micros(contestant.once()?);
    }
    Ok(samples)
}

const TTL: Duration = Duration::from_secs(3);
