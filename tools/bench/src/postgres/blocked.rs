//! The lowest floor there is: a session that waits inside the server for a lock. Nobody does this for long, because its
//! transaction stays open, and keeps dead rows of all tables from being removed.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tenure::{Clock, Instant};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error as SqlError};

use super::wire::connect;
use crate::handover::Contestant;
use crate::runtime::runtime;

/// Two sessions that hand a lock to each other.
pub(super) struct Blocked {
    runtime: Runtime,
    holder: Arc<Client>,
    waiter: Arc<Client>,
    /// Ends when the waiter has the lock.
    waiting: JoinHandle<Result<Instant, SqlError>>,
}

impl Blocked {
    pub(super) fn raise(url: &str) -> Result<Self, Box<dyn Error>> {
        let runtime = runtime()?;
        let (holder, waiter, waiting) = runtime.block_on(async {
            let (holder, waiter) = (Arc::new(connect(url).await?), Arc::new(connect(url).await?));
            lock(&holder).await?;
            let waiting = tokio::spawn(lock_now(Arc::clone(&waiter)));
            let_wait(&holder).await?;
            Ok::<_, SqlError>((holder, waiter, waiting))
        })?;
        Ok(Self { runtime, holder, waiter, waiting })
    }
}

impl Contestant for Blocked {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let Self { runtime, holder, waiter, waiting } = self;
        runtime.block_on(async {
            let began = Clock::boottime().now();
            holder.batch_execute("SELECT pg_advisory_unlock(7042)").await?;
            let at = (&mut *waiting).await??;
            std::mem::swap(holder, waiter);
            *waiting = tokio::spawn(lock_now(Arc::clone(waiter)));
            let_wait(holder).await?;
            Ok(at.saturating_since(began))
        })
    }
}

async fn lock_now(client: Arc<Client>) -> Result<Instant, SqlError> {
    lock(&client).await?;
    Ok(Clock::boottime().now())
}

async fn lock(client: &Client) -> Result<(), SqlError> {
    client.batch_execute("SELECT pg_advisory_lock(7042)").await
}

/// Returns when the other session waits.
async fn let_wait(client: &Client) -> Result<(), SqlError> {
    let sql = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7042 AND NOT granted";
    while client.query_opt(sql, &[]).await?.is_none() {
        tokio::task::yield_now().await;
    }
    Ok(())
}
