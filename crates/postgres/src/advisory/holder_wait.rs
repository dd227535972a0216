//! Detects that a holder is gone: waits for its lock on a second connection, each time for a bounded while.
//!
//! A wait without a bound would keep the server from clearing up old rows. Only a few of all who stand by wait for a holder,
//! and only for one of its locks: they all end together. Whether enough wait already is asked over the session that is
//! there, so the others need no second connection. What is waited for is never kept: whoever is woken campaigns, and the
//! server tells all others by itself, in case those who waited stand still.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tenure_store::remote::push_hub::PushSink;
use tenure_store::{Hint, Interest};
use tokio::sync::Notify;
use tokio_postgres::types::{ToSql, Type};

use super::super::connect::Session;
use super::super::error::PostgresStoreError;
use super::held_locks::ElectionLock;
use super::locks::{self, LockSight};
use super::notice::{Notice, channel_name};
use super::push::part;
use super::shared::AdvisoryShared;

/// The locks to wait for.
#[derive(Default)]
pub(super) struct WaitQueue {
    awaited: Mutex<VecDeque<AwaitedLock>>,
    added: Notify,
    /// The holder that is being waited for; 0 if none.
    waits_for: AtomicI32,
}

/// One lock of a holder.
#[derive(Debug, Clone, Copy)]
struct AwaitedLock {
    holder: i32,
    id: i64,
    /// How long one wait lasts.
    bound: Duration,
    /// The longest time that others may go first.
    pause: Duration,
}

/// The second connection.
struct WaitConnection {
    session: Session,
    /// The fraction of the bound that its waits last, so that waits that began together do not end together.
    part: f64,
    /// The length of each wait on it.
    bound: Option<Duration>,
}

/// The result of a wait.
enum WaitResult {
    /// The lock was free.
    Over,
    /// The lock is still held.
    Bounded,
    /// Enough others wait for it.
    Watched,
}

const WAIT: &str = include_str!("sql/wait.sql");
/// The number of waiters for a holder. One would do if it could not be gone itself; more would only cost connections.
pub(super) const MAX_WAITERS: i64 = 5;
const MIN_BOUND: Duration = Duration::from_millis(500);
const MAX_BOUND: Duration = Duration::from_secs(15);
/// Without a second connection, candidates are told to look by themselves this often.
const BACK_OFF: Duration = Duration::from_secs(2);
/// The longest delay before the first wait, so that only a few of many go on.
pub(super) const PAUSE: Duration = Duration::from_millis(200);
/// An unused connection is kept this long: after a change there is soon another holder to wait for.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// A resigning holder announces it within this time, which is short beside the wait after a leader that did not.
const WORD: Duration = Duration::from_millis(10);

impl WaitQueue {
    /// Adds a holder that has too few waiters.
    pub(super) fn add(&self, holder: i32, id: i64, ttl: Duration, pause: Duration) {
        let mut awaited = self.awaited();
        if !awaited.iter().any(|awaited_lock| awaited_lock.holder == holder) {
            awaited.push_back(AwaitedLock { holder, id, bound: (ttl / 2).clamp(MIN_BOUND, MAX_BOUND), pause });
            self.added.notify_one();
        }
    }

    /// The next one, which goes to the end of the line; with several, each wait is shorter.
    fn next(&self) -> Option<AwaitedLock> {
        let mut awaited = self.awaited();
        let count = u32::try_from(awaited.len()).unwrap_or(u32::MAX);
        let awaited_lock = awaited.pop_front()?;
        awaited.push_back(AwaitedLock { pause: Duration::ZERO, ..awaited_lock });
        Some(AwaitedLock { bound: (awaited_lock.bound / count).max(MIN_BOUND), ..awaited_lock })
    }

    /// Whether this process is the one that will be woken when this holder is gone.
    pub(super) fn is_waiting_for(&self, holder: i32) -> bool {
        self.waits_for.load(Ordering::Relaxed) == holder
    }

    fn remove(&self, holder: i32) {
        self.awaited().retain(|awaited_lock| awaited_lock.holder != holder);
    }

    fn awaited(&self) -> MutexGuard<'_, VecDeque<AwaitedLock>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs until the handle is gone.
pub(super) async fn watch(shared: &Weak<AdvisoryShared>, push_sink: &PushSink) {
    let mut watch = None;
    loop {
        if !is_awaited(shared, watch.is_some()).await {
            watch = None;
        }
        let Some(shared) = shared.upgrade() else { return };
        if let Err(fault) = stand_watch(&shared, push_sink, &mut watch).await {
            log!(debug, "cannot watch for the end of a leader; trying again: {fault}");
            watch = None;
            shared.awaited.waits_for.store(0, Ordering::Relaxed);
            shared.awaited.awaited().clear();
            drop(shared);
            // Waits because a server that has no room, or is about to end, is not to be asked again at once.
            tokio::time::sleep(BACK_OFF).await;
            push_sink.tell(Interest::Own, Hint::anywhere());
        }
    }
}

/// Waits until there is something to wait for, or a connection has been kept for long enough, or the handle is gone. Nobody
/// is kept alive by it.
async fn is_awaited(shared: &Weak<AdvisoryShared>, is_kept: bool) -> bool {
    let began = Instant::now();
    while let Some(shared) = shared.upgrade() {
        if !shared.awaited.awaited().is_empty() {
            return true;
        }
        if is_kept && began.elapsed() >= KEPT_FOR {
            return false;
        }
        // Waits because the end of a handle is not told.
        let _ = tokio::time::timeout(BACK_OFF, shared.awaited.added.notified()).await;
    }
    false
}

/// Waits until nothing is left to wait for.
async fn stand_watch(
    shared: &AdvisoryShared,
    push_sink: &PushSink,
    watch: &mut Option<WaitConnection>,
) -> Result<(), PostgresStoreError> {
    while let Some(awaited_lock) = shared.awaited.next() {
        if !awaited_lock.pause.is_zero() {
            // Waits because of many who would wait at the same time all but a few should stop.
            tokio::time::sleep(awaited_lock.pause.mul_f64(part())).await;
        }
        watch.take_if(|watch| watch.session.is_closed());
        let outcome = match watch {
            Some(watch) => watch.wait(shared, &awaited_lock).await?,
            None => match look(shared, &awaited_lock).await? {
                Some(outcome) => outcome,
                None => {
                    let (session, _messages) = shared.endpoint.connect().await?;
                    watch
                        .insert(WaitConnection { session, part: 1.0 - part() / 5.0, bound: None })
                        .wait(shared, &awaited_lock)
                        .await?
                }
            },
        };
        match outcome {
            WaitResult::Over => {
                shared.awaited.remove(awaited_lock.holder);
                // Waits because a lock that was given back can be used at once, and one that was not cannot.
                tokio::time::sleep(WORD).await;
                for key in shared.waiters().waiting_for(awaited_lock.holder, shared.clock.now()) {
                    push_sink.tell(Interest::Own, Hint::at(key));
                }
            }
            WaitResult::Watched => {
                shared.awaited.remove(awaited_lock.holder);
                shared.waiters().watched(awaited_lock.holder);
            }
            WaitResult::Bounded => {
                if shared.waiters().waiting_for(awaited_lock.holder, shared.clock.now()).is_empty() {
                    shared.awaited.remove(awaited_lock.holder);
                }
            }
        }
    }
    Ok(())
}

/// The result of a wait, as far as the existing session can tell; `None` if it would have to wait.
async fn look(shared: &AdvisoryShared, awaited_lock: &AwaitedLock) -> Result<Option<WaitResult>, PostgresStoreError> {
    let session = shared.session().await?;
    // What it is marked with is of no interest here.
    let sights = locks::look(&session, &[ElectionLock { id: awaited_lock.id, tag: 0 }]).await?;
    Ok(match sights.get(&awaited_lock.id) {
        Some(LockSight::Held(holder)) if holder.pid == awaited_lock.holder => {
            (holder.waiters >= MAX_WAITERS).then_some(WaitResult::Watched)
        }
        _ => Some(WaitResult::Over),
    })
}

impl WaitConnection {
    async fn wait(
        &mut self,
        shared: &AdvisoryShared,
        awaited_lock: &AwaitedLock,
    ) -> Result<WaitResult, PostgresStoreError> {
        let bound = awaited_lock.bound.mul_f64(self.part);
        if self.bound != Some(bound) {
            limit(&self.session, bound).await?;
            self.bound = Some(bound);
        }
        shared.awaited.waits_for.store(awaited_lock.holder, Ordering::Relaxed);
        let outcome = wait(&self.session, awaited_lock).await;
        shared.awaited.waits_for.store(0, Ordering::Relaxed);
        outcome
    }
}

/// Sets the length of each wait on this session from now on.
async fn limit(session: &Session, bound: Duration) -> Result<(), PostgresStoreError> {
    let sql = "SELECT pg_catalog.set_config('lock_timeout', $1, false), \
               pg_catalog.set_config('statement_timeout', '60s', false), \
               pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)";
    session.query(sql, &[(&bound.as_millis().to_string(), Type::TEXT)]).await.map(drop)
}

async fn wait(session: &Session, awaited_lock: &AwaitedLock) -> Result<WaitResult, PostgresStoreError> {
    let told = Notice::Gone(awaited_lock.holder).payload();
    let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
        (&awaited_lock.id, Type::INT8),
        (&MAX_WAITERS, Type::INT8),
        (&channel_name(), Type::TEXT),
        (&told, Type::TEXT),
    ];
    match session.query(WAIT, &parameters).await {
        Ok(rows) if rows.is_empty() => Ok(WaitResult::Watched),
        Ok(_) => Ok(WaitResult::Over),
        Err(PostgresStoreError::Refused(error)) if error.code().is_some_and(|code| code.code() == "55P03") => {
            Ok(WaitResult::Bounded)
        }
        Err(fault) => Err(fault),
    }
}
