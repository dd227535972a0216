//! Whole processes: how late a takeover after kill -9 is, and hand-overs after SIGTERM beside a bare push and acquisition
//! between two processes.

use std::error::Error;
use std::time::{Duration, SystemTime};

use tenure::{Clock, Instant};
use tenure_testkit::redis::RedisServer;

use super::wire::{Ping, RedisWire};
use crate::elect_processes::TTL;
use crate::figures::Bench;
use crate::floor;
use crate::handover::{Contestant, IDLE};
use crate::processes::Measured;
use crate::stats::Samples;

pub(super) fn run(bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, client, table } = bench;
    let mut measured = Measured::default();
    let (mut floor_ms, mut round_trip_ms) = (Samples::default(), Samples::default());
    for run in 1..=scale.runs {
        eprintln!("processes: run {run} of {}", scale.runs);
        let server = RedisServer::start();
        measured.one_run(client, &server.url(), |_| expiry(&server))?;
        floor_ms.push(floor::between_processes(&server.url())?);
        let mut ping = Ping(RedisWire::open(&server.url())?);
        std::thread::sleep(IDLE);
        round_trip_ms.push(ping.once()?.as_secs_f64() * 1e3);
    }
    let Measured { start, takeover, handover, resident, .. } = measured;
    table.demand(
        format!("takeover after kill -9 at a ttl of {TTL}, after the expiry of the lease, {} runs", scale.runs),
        takeover.in_millis(),
        "the expiry of the lease in the store",
        "within 20 ms",
        takeover.max() <= 20.0,
    );
    table.ratio(
        format!("hand-over between processes at a ttl of {TTL}, SIGTERM to leadership"),
        format!("{}, {:.1} round trips", handover.in_millis(), handover.median() / round_trip_ms.median()),
        format!("push and acquisition between processes, {}", floor_ms.in_millis()),
        handover.median() / floor_ms.median(),
        1.5,
    );
    table.fact("start of a process to leadership", start.in_millis(), "");
    table.demand(
        "resident memory of a process",
        format!("{:.1} MB", resident.median()),
        "",
        "at most 12 MB",
        resident.max() <= 12.0,
    );
    Ok(())
}

/// When the lease of the leader that was just killed ends, by the store.
fn expiry(server: &RedisServer) -> Result<Instant, Box<dyn Error>> {
    // A renewal that was under way has arrived by then, and no lease is as short.
    std::thread::sleep(Duration::from_millis(200));
    let expiry_ms: u64 = redis::from_redis_value(server.command(&["PEXPIRETIME", LEASE]))?;
    let expiry = Duration::from_millis(expiry_ms);
    let (unix, boot) = (SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?, Clock::boottime().now());
    Ok(boot + expiry.checked_sub(unix).ok_or("the lease has run out already")?)
}

/// Where the store keeps the lease of the election that the processes stand in.
const LEASE: &str = "tenure:default:bench";
