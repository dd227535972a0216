//! The floor of a hand-over: a release that pushes, and an acquisition by whoever was pushed; nothing else.

use std::error::Error;
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::StreamExt;
use redis::{Client, Script};
use tenure::{Clock, Instant};

use super::wire::{Wire, connect, runtime};
use crate::handover::{Contestant, PATIENCE, TTL};

/// What ended in a thread of its own.
type Ended = Result<(), Box<dyn Error + Send + Sync>>;

/// Two connections and a subscription.
pub(super) struct Floor {
    holder: Holder,
    taken: Receiver<Instant>,
    waiter: JoinHandle<Ended>,
}

impl Floor {
    pub(super) fn raise(url: &str) -> Result<Self, Box<dyn Error>> {
        let (sender, taken) = channel();
        let (ready, is_ready) = channel();
        let waiters_url = url.to_owned();
        let waiter = std::thread::spawn(move || {
            let tell_ready = || ready.send(()).unwrap_or_default();
            wait(&waiters_url, tell_ready, |at| sender.send(at).is_ok())
        });
        is_ready.recv_timeout(PATIENCE)?;
        Ok(Self { holder: Holder::enter(url)?, taken, waiter })
    }

    pub(super) fn end(self) -> Result<(), Box<dyn Error>> {
        let Self { mut holder, taken, waiter } = self;
        drop(taken);
        holder.release()?;
        waiter.join().map_err(|_| "the waiter of the floor panicked")?.map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Contestant for Floor {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        self.holder.release()?;
        Ok(self.taken.recv_timeout(PATIENCE)?.saturating_since(began))
    }
}

/// Whoever has the lease.
pub(super) struct Holder(Wire);

impl Holder {
    /// Takes the lease from whoever has it.
    pub(super) fn enter(url: &str) -> Result<Self, Box<dyn Error>> {
        let mut wire = Wire::open(url)?;
        wire.ask::<()>(redis::cmd("SET").arg(LEASE).arg(HOLDER).arg("PX").arg(ttl_ms()))?;
        Ok(Self(wire))
    }

    /// Gives the lease to the waiter, who takes it under the same name.
    pub(super) fn release(&mut self) -> Result<(), Box<dyn Error>> {
        let released: u32 = self.0.invoke(RELEASE.key(LEASE).arg(HOLDER).arg(CHANNEL))?;
        if released == 1 { Ok(()) } else { Err("the floor has lost its lease".into()) }
    }
}

/// Takes the lease whenever it is told to, until nobody wants to know.
pub(super) fn wait(url: &str, ready: impl FnOnce(), mut taken: impl FnMut(Instant) -> bool) -> Ended {
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
