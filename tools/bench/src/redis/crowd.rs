//! Many followers, each with connections of its own.

use std::error::Error;
use std::time::{Duration, Instant};

use tenure_testkit::redis::RedisServer;

use super::load::RedisCounters;
use crate::crowd::FollowerCrowd;
use crate::figures::Bench;
use crate::handover::{Candidates, PATIENCE};

pub(super) fn run(bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    let server = RedisServer::start();
    eprintln!("{} followers: starting", scale.followers);
    let candidates = Candidates::raise(&server.url(), scale.crowd_ttl, scale.followers + 1)?;
    let_all_connect(&server, scale.followers + 1)?;
    let crowd = FollowerCrowd { what: "", calls: "scripts", candidates };
    crowd.watch(scale, &mut || Ok(RedisCounters::at(&server)?.work()), table)
}

/// Each has a connection for commands and one for pushes.
fn let_all_connect(server: &RedisServer, candidates: usize) -> Result<(), Box<dyn Error>> {
    let wanted = 2.0 * f64::from(u32::try_from(candidates)?);
    let deadline = Instant::now() + PATIENCE;
    while RedisCounters::at(server)?.connections() < wanted {
        if Instant::now() > deadline {
            return Err("not all followers have connected in time".into());
        }
        // Waits because nothing tells of connections.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
