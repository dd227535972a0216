//! Whole processes: how late a takeover after kill -9 is, and hand-overs after SIGTERM beside a bare push and acquisition
//! between two processes.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use tenure::{Clock, Instant};
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::Running;

use super::roles;
use super::scale::Scale;
use super::wire::{Ping, Wire};
use crate::handover::{Contestant, IDLE};
use crate::processes::{Measured, millis};
use crate::stage::TTL;
use crate::stats::Samples;
use crate::table::Table;

pub(super) fn run(scale: &Scale, tenure: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut measured = Measured::default();
    let (mut floor_ms, mut round_trip_ms) = (Samples::default(), Samples::default());
    for run in 1..=scale.runs {
        eprintln!("processes: run {run} of {}", scale.runs);
        let server = RedisServer::start();
        measured.one_run(tenure, &server.url(), |_| expiry(&server))?;
        floor_ms.push(floor(&server)?);
        let mut ping = Ping(Wire::open(&server.url())?);
        std::thread::sleep(IDLE);
        round_trip_ms.push(ping.once()?.as_secs_f64() * 1e3);
    }
    let Measured { start, takeover, handover, resident, .. } = measured;
    let spread = |samples: &Samples| format!("p50 {:.1} ms, worst {:.1} ms", samples.median(), samples.max());
    table.demand(
        format!("takeover after kill -9 at a ttl of {TTL}, after the expiry of the lease, {} runs", scale.runs),
        spread(&takeover),
        "the expiry of the lease in the store",
        "within 20 ms",
        takeover.max() <= 20.0,
    );
    table.ratio(
        format!("hand-over between processes at a ttl of {TTL}, SIGTERM to leadership"),
        format!("{}, {:.1} round trips", spread(&handover), handover.median() / round_trip_ms.median()),
        format!("push and acquisition between processes, {}", spread(&floor_ms)),
        handover.median() / floor_ms.median(),
        1.5,
    );
    table.fact("start of a process to leadership", spread(&start), "");
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

/// A bare hand-over between two processes, from the signal on, in milliseconds.
fn floor(server: &RedisServer) -> Result<f64, Box<dyn Error>> {
    let waiter = roles::start(&["waiter", &server.url()])?;
    // The first one brings the scripts to the server.
    one_handover(server, &waiter)?;
    one_handover(server, &waiter)
}

fn one_handover(server: &RedisServer, waiter: &Running) -> Result<f64, Box<dyn Error>> {
    let holder = roles::start(&["holder", &server.url()])?;
    std::thread::sleep(IDLE);
    let asked = Clock::boottime().now();
    holder.signal(Signal::TERM);
    let at = Instant::from_nanos(waiter.stdout().next("an acquisition").parse()?);
    roles::dismiss(holder)?;
    Ok(millis(asked, at))
}

/// Where the store keeps the lease of the election that the processes stand in.
const LEASE: &str = "tenure:default:bench";
