//! Bare hand-overs on PostgreSQL: of a row, and of an advisory lock. The push is a statement of its own right behind the
//! release, which no crash needs to keep.

use std::error::Error;

use tenure::{Clock, Instant};
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::wire::{PostgresWire, connect, connect_to_listen};
use crate::floor::{FloorHolder, ThreadEnd};
use crate::runtime::runtime;

/// How something is handed over. Each statement returns one row that is true if it worked.
struct HandoverStatements {
    /// Has it, whoever had it before.
    enter: &'static str,
    release: &'static str,
    take: &'static str,
    /// What belongs to a session has to be given back, and taken again.
    is_of_a_session: bool,
}

const LEASE: HandoverStatements = HandoverStatements {
    enter: "UPDATE floor_lease SET holder = 1, expires_at = clock_timestamp() + interval '1 minute' WHERE id = 0
        RETURNING true",
    release: "UPDATE floor_lease SET holder = NULL, expires_at = NULL WHERE id = 0 AND holder = 1 RETURNING true",
    take: "UPDATE floor_lease SET holder = 1, term = term + 1, expires_at = clock_timestamp() + interval '1 minute'
        WHERE id = 0 AND holder IS NULL RETURNING true",
    is_of_a_session: false,
};

const LOCK: HandoverStatements = HandoverStatements {
    enter: "SELECT true FROM pg_advisory_lock(7041)",
    release: "SELECT pg_advisory_unlock(7041)",
    take: "SELECT pg_try_advisory_lock(7041)",
    is_of_a_session: true,
};

const PUSH: &str = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('floor_released', '')";
const LISTEN: &str = "LISTEN floor_released";

pub(super) fn enter_lease(url: &str) -> Result<Box<dyn FloorHolder>, Box<dyn Error>> {
    BareHolder::enter(url, &LEASE)
}

pub(super) fn enter_lock(url: &str) -> Result<Box<dyn FloorHolder>, Box<dyn Error>> {
    BareHolder::enter(url, &LOCK)
}

pub(super) fn wait_for_lease(url: &str, ready: &mut dyn FnMut(), taken: &mut dyn FnMut(Instant) -> bool) -> ThreadEnd {
    runtime()?.block_on(wait(url, &LEASE, ready, taken))
}

pub(super) fn wait_for_lock(url: &str, ready: &mut dyn FnMut(), taken: &mut dyn FnMut(Instant) -> bool) -> ThreadEnd {
    runtime()?.block_on(wait(url, &LOCK, ready, taken))
}

struct BareHolder {
    wire: PostgresWire,
    enter: Statement,
    release: Statement,
    push: Statement,
    is_of_a_session: bool,
}

impl BareHolder {
    fn enter(url: &str, way: &HandoverStatements) -> Result<Box<dyn FloorHolder>, Box<dyn Error>> {
        let wire = PostgresWire::open(url)?;
        let (enter, release, push) = (wire.prepare(way.enter)?, wire.prepare(way.release)?, wire.prepare(PUSH)?);
        wire.wait(succeeds(&wire.client, &enter))?;
        Ok(Box::new(Self { wire, enter, release, push, is_of_a_session: way.is_of_a_session }))
    }
}

impl FloorHolder for BareHolder {
    fn release(&mut self) -> Result<(), Box<dyn Error>> {
        let client = &self.wire.client;
        // Both travel together.
        let both = async { tokio::try_join!(succeeds(client, &self.release), client.execute(&self.push, &[])) };
        let (is_released, _) = self.wire.wait(both)?;
        if is_released { Ok(()) } else { Err("the floor has lost what it held".into()) }
    }

    fn retake(&mut self) -> Result<(), Box<dyn Error>> {
        if self.is_of_a_session {
            self.wire.wait(succeeds(&self.wire.client, &self.enter))?;
        }
        Ok(())
    }
}

async fn wait(
    url: &str,
    way: &HandoverStatements,
    ready: &mut dyn FnMut(),
    taken: &mut dyn FnMut(Instant) -> bool,
) -> ThreadEnd {
    let client = connect(url).await?;
    let (take, release) = (client.prepare(way.take).await?, client.prepare(way.release).await?);
    let (listener, mut messages) = connect_to_listen(url).await?;
    listener.batch_execute(LISTEN).await?;
    ready();
    while let Some(message) = messages.recv().await {
        let AsyncMessage::Notification(_) = message else { continue };
        if !succeeds(&client, &take).await? {
            return Err("what was released could not be taken".into());
        }
        let goes_on = taken(Clock::boottime().now());
        if way.is_of_a_session {
            succeeds(&client, &release).await?;
        }
        if !goes_on {
            break;
        }
    }
    Ok(())
}

async fn succeeds(client: &Client, statement: &Statement) -> Result<bool, tokio_postgres::Error> {
    client.query_opt(statement, &[]).await?.map_or(Ok(false), |row| row.try_get(0))
}
