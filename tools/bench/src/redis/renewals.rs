//! Leases that are renewed each second by a bare loop.

use std::error::Error;
use std::sync::LazyLock;

use redis::{Pipeline, RedisResult, Script};

use super::wire::RedisWire;
use crate::elections::TTL;
use crate::renewals::Renewals;

/// With one script for a thousand leases, and all scripts in one round trip: the floor.
pub(super) fn in_batches(url: &str, count: u32) -> Result<Renewals, Box<dyn Error>> {
    start(url, count, |wire, leases| {
        let mut pipeline = Pipeline::new();
        for chunk in leases.chunks(CHUNK) {
            let mut call = redis::cmd("EVALSHA");
            call.arg(RENEW.get_hash()).arg(chunk.len()).arg(chunk).arg(HOLDER).arg(ttl_ms());
            pipeline.add_command(call);
        }
        Ok(wire.ask_all::<Vec<u32>>(&pipeline)?.into_iter().sum())
    })
}

/// With a call for each lease, one after the other, as programs do that have a loop for each lease.
pub(super) fn one_by_one(url: &str, count: u32) -> Result<Renewals, Box<dyn Error>> {
    start(url, count, |wire, leases| {
        leases.iter().map(|lease| wire.invoke::<u32>(RENEW.key(lease).arg(HOLDER).arg(ttl_ms()))).sum()
    })
}

fn start(
    url: &str,
    count: u32,
    round: impl Fn(&mut RedisWire, &[String]) -> RedisResult<u32> + Send + 'static,
) -> Result<Renewals, Box<dyn Error>> {
    let mut wire = RedisWire::open(url)?;
    let leases: Vec<String> = (0..count).map(|index| format!("floor:{index}")).collect();
    let mut pipeline = Pipeline::new();
    for lease in &leases {
        pipeline.cmd("SET").arg(lease).arg(HOLDER).arg("PX").arg(ttl_ms()).ignore();
    }
    wire.ask_all::<()>(&pipeline)?;
    wire.ask::<String>(redis::cmd("SCRIPT").arg("LOAD").arg(include_str!("lua/renew.lua")))?;
    Ok(Renewals::start(count, move || Ok(round(&mut wire, &leases)?)))
}

fn ttl_ms() -> u64 {
    TTL.as_secs() * 1_000
}

static RENEW: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/renew.lua")));
const CHUNK: usize = 1_000;
const HOLDER: &str = "1";
