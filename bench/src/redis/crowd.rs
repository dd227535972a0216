//! Many followers of one leader: what they cost while nothing happens, and what happens when the leader resigns.

use std::error::Error;
use std::time::{Duration, Instant};

use tenure_testkit::redis::RedisServer;

use super::load::Look;
use super::pass;
use super::scale::Scale;
use crate::handover::{Candidates, Contestant, PATIENCE};
use crate::stats::Samples;
use crate::table::Table;

pub(super) fn run(scale: &Scale, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let Scale { followers, crowd_ttl: ttl, .. } = *scale;
    let server = RedisServer::start();
    eprintln!("{followers} followers: starting");
    let mut candidates = Candidates::raise(&server.url(), ttl, followers + 1)?;
    let_all_connect(&server, followers + 1)?;
    // Whoever came before its pushes could be heard asks again.
    std::thread::sleep(ttl / 5);
    let before = Look::at(&server)?;
    pass(&format!("{followers} followers"), scale.crowd_watch);
    let idle = Look::at(&server)?.since(&before);
    let idle_per_second = idle.scripts / idle.seconds;
    table.fact(
        format!("{followers} idle followers of one leader at a ttl of {} s", ttl.as_secs_f64()),
        format!("{idle_per_second:.1} scripts per second"),
        format!("{:.2} % CPU of the server", 100.0 * idle.cpu / idle.seconds),
    );
    let [mut took, mut scripts, mut usual, mut published] = std::array::from_fn(|_| Samples::default());
    for _ in 0..scale.resignations {
        // Who was told to look after the last reservation has looked by then.
        std::thread::sleep(REST);
        let before = Look::at(&server)?;
        took.push_micros(candidates.once()?);
        std::thread::sleep(AFTERMATH);
        let load = Look::at(&server)?.since(&before);
        scripts.push(load.scripts);
        usual.push(idle_per_second * load.seconds);
        published.push(load.published);
    }
    candidates.end();
    table.demand(
        format!("one of {} resigns: scripts called around it", followers + 1),
        format!("{:.0}, and {:.0} messages published", scripts.median(), published.median()),
        format!("{:.1} as always, and one each to resign and to campaign", usual.median()),
        "at most 10 more than always",
        scripts.median() <= usual.median() + 10.0,
    );
    table.fact(
        format!("one of {} resigns: time to the next leader", followers + 1),
        format!("p50 {:.0} µs, worst {:.0} µs", took.median(), took.max()),
        "",
    );
    Ok(())
}

/// Each has a connection for commands and one for pushes.
fn let_all_connect(server: &RedisServer, candidates: usize) -> Result<(), Box<dyn Error>> {
    let wanted = 2.0 * f64::from(u32::try_from(candidates)?);
    let deadline = Instant::now() + PATIENCE;
    while Look::at(server)?.connections() < wanted {
        if Instant::now() > deadline {
            return Err("not all followers have connected in time".into());
        }
        // Waits because nothing tells of connections.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Longer than a lease is reserved for.
const REST: Duration = Duration::from_millis(1_500);
/// Whoever was woken has asked by then, and few others have.
const AFTERMATH: Duration = Duration::from_millis(30);
