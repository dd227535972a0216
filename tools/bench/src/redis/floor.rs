//! A bare hand-over on Redis: a script that releases and publishes, and one that takes.

use std::error::Error;
use std::sync::LazyLock;

use futures_util::StreamExt;
use redis::{Client, Script};
use tenure::{Clock, Instant};

use super::wire::{RedisWire, connect};
use crate::floor::{self, ThreadEnd};
use crate::handover::TTL;
use crate::runtime::runtime;

/// Whoever has the lease.
struct RedisHolder(RedisWire);

/// Takes the lease from whoever has it.
pub(super) fn enter(url: &str) -> Result<Box<dyn floor::FloorHolder>, Box<dyn Error>> {
    let mut wire = RedisWire::open(url)?;
    wire.ask::<()>(redis::cmd("SET").arg(LEASE).arg(HOLDER).arg("PX").arg(ttl_ms()))?;
    Ok(Box::new(RedisHolder(wire)))
}

impl floor::FloorHolder for RedisHolder {
    /// The waiter takes it under the same name.
    fn release(&mut self) -> Result<(), Box<dyn Error>> {
        let released: u32 = self.0.invoke(RELEASE.key(LEASE).arg(HOLDER).arg(CHANNEL))?;
        if released == 1 { Ok(()) } else { Err("the floor has lost its lease".into()) }
    }
}

/// Takes the lease whenever it is told to, until nobody wants to know.
pub(super) fn wait(url: &str, ready: &mut dyn FnMut(), taken: &mut dyn FnMut(Instant) -> bool) -> ThreadEnd {
    let client = Client::open(url)?;
    runtime()?.block_on(async {
        let mut connection = connect(&client).await?;
        ACQUIRE.prepare_invoke().load_async(&mut connection).await?;
        let mut pushes = client.get_async_pubsub().await?;
        pushes.subscribe(CHANNEL).await?;
        ready();
        let mut pushes = pushes.into_on_message();
        while pushes.next().await.is_some() {
            let invocation = &mut ACQUIRE.key(LEASE);
            let term: u64 = invocation.key(TERM).arg(HOLDER).arg(ttl_ms()).invoke_async(&mut connection).await?;
            if term == 0 || !taken(Clock::boottime().now()) {
                break;
            }
        }
        Ok(())
    })
}

fn ttl_ms() -> u64 {
    TTL.as_secs() * 1_000
}

static ACQUIRE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/acquire.lua")));
static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/release.lua")));
const LEASE: &str = "floor:lease";
const TERM: &str = "floor:term";
const CHANNEL: &str = "floor:released";
const HOLDER: &str = "1";
