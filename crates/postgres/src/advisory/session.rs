//! The one session that holds all locks of a handle.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tenure_store::clock::Clock;
use tenure_store::{ElectionKey, Instant, StoreErrorKind};
use tokio::sync::Notify;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Row};

use super::super::connect::{Notifications, ServerFacts, Session};
use super::super::error::PostgresStoreError;
use super::super::identifier::is_own_channel;
use super::held_locks::HeldLocks;
use super::inbox::SessionInbox;
use super::notice::{Notice, channel_name};

/// A session, and the locks it holds.
///
/// It is never closed by this end while anybody may trust in a lock that it holds: the server would free the lock at once.
/// So a request that is not answered does not end it; only when all holds have lapsed, it is given up.
pub(super) struct LockSession {
    wire: Session,
    /// Known to this session alone, and kept by it: an answer without it comes from another session.
    pub(super) marker: String,
    pub(super) clock: Clock,
    /// Serializes all changes of the locks.
    pub(super) turn: tokio::sync::Mutex<()>,
    held_locks: Mutex<HeldLocks>,
    arrivals: Mutex<ArrivalQueue>,
    inbox: Mutex<SessionInbox>,
    /// After how long without a request the server ends this session, in milliseconds; 0 is never.
    pub(super) guard_ms: AtomicU32,
    /// The number of times it has shown that it is alive.
    pub(super) beats: AtomicU32,
    /// The number of waiters for its end when last seen.
    pub(super) waiters: AtomicI64,
    /// The number of times it has freed locks.
    releases: AtomicU32,
    /// A statement failed, and it is unknown which locks it took before.
    pub(super) is_unsure: AtomicBool,
    /// Notifies the task that gives back lapsed locks.
    pub(super) changed: Notify,
    is_closed: AtomicBool,
    ended_by: OnceLock<String>,
}

/// Notifications that have arrived and were not processed yet.
struct ArrivalQueue {
    messages: Notifications,
    heard: VecDeque<Arrival>,
    /// Locks that were given back, and by which server process, for the next to take them.
    freed: VecDeque<(i32, ElectionKey)>,
}

/// A notification that has arrived.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A notice, from this server process.
    Notice(i32, Notice),
    /// A message to the leader of an election, which is this process.
    Message(ElectionKey),
    /// A broadcast: its channel and its payload.
    Broadcast(String, String),
}

/// A server that takes longer is asked over another connection, unless this one holds locks.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much longer than the longest ttl the server waits, so that this process is the first to give back what has lapsed.
const GUARD_MARGIN: Duration = Duration::from_millis(500);

impl LockSession {
    pub(super) fn new(wire: Session, messages: Notifications, marker: String, clock: Clock) -> Self {
        Self {
            wire,
            marker,
            clock,
            turn: tokio::sync::Mutex::new(()),
            held_locks: Mutex::default(),
            arrivals: Mutex::new(ArrivalQueue { messages, heard: VecDeque::new(), freed: VecDeque::new() }),
            inbox: Mutex::default(),
            guard_ms: AtomicU32::new(0),
            beats: AtomicU32::new(0),
            waiters: AtomicI64::new(0),
            releases: AtomicU32::new(0),
            is_unsure: AtomicBool::new(false),
            changed: Notify::new(),
            is_closed: AtomicBool::new(false),
            ended_by: OnceLock::new(),
        }
    }

    pub(super) fn facts(&self) -> ServerFacts {
        self.wire.facts()
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn held_locks(&self) -> MutexGuard<'_, HeldLocks> {
        self.held_locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all its locks are lost.
    pub(super) fn is_over(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst) || self.wire.is_closed()
    }

    /// Ends it: the server frees all its locks.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.wire.close();
    }

    /// Marks it as replaced, so none of its apparent locks count.
    pub(super) fn condemn(&self, why: String) -> PostgresStoreError {
        let why = self.ended_by.get_or_init(|| why).clone();
        log!(error, "closing the session: {why}");
        self.close();
        PostgresStoreError::Replaced(why)
    }

    /// The reason why it is no longer used.
    pub(super) fn obituary(&self) -> PostgresStoreError {
        match self.ended_by.get() {
            Some(why) => PostgresStoreError::Replaced(why.clone()),
            None => PostgresStoreError::Unusable(StoreErrorKind::Unavailable, "the session has ended".to_owned()),
        }
    }

    /// Asks, and ends the session if there is no answer and no lock to lose.
    pub(super) async fn ask(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, PostgresStoreError> {
        if self.is_over() {
            return Err(self.obituary());
        }
        let mut answer = std::pin::pin!(self.wire.query(sql, parameters));
        loop {
            if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
                if matches!(answer, Err(PostgresStoreError::Lost(_))) {
                    // The server may say so a moment before it is seen that the connection is broken.
                    self.close();
                }
                return answer;
            }
            if !self.held_locks().is_trusted(self.now()) {
                log!(debug, "the server does not answer; trying another connection");
                self.close();
            }
        }
    }

    /// A number for the next release, unique in this session.
    pub(super) fn next_release(&self) -> String {
        self.releases.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// What the server has to wait for, in milliseconds, so that nobody loses a lock in which it may trust: the longest
    /// ttl, since all locks end with the session.
    pub(super) fn guard(&self, more: Option<Duration>) -> u32 {
        let longest = self.held_locks().max_ttl().max(more);
        let guard = longest.map_or(0, |ttl| ttl.saturating_add(GUARD_MARGIN).as_millis());
        u32::try_from(guard).unwrap_or(u32::MAX).min(i32::MAX.unsigned_abs())
    }

    /// The next notification; `None` when the session has ended. Cancel safe.
    pub(super) async fn hear(&self) -> Option<Arrival> {
        poll_fn(|context| {
            let mut arrivals = self.arrivals();
            loop {
                if let Some(heard) = arrivals.heard.pop_front() {
                    return Poll::Ready(Some(heard));
                }
                match arrivals.messages.poll_recv(context) {
                    Poll::Ready(Some(message)) => self.sort(&mut arrivals, &message),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// The locks given back since the last call, and by which server process, as far as the notices have arrived.
    pub(super) fn take_freed(&self) -> Vec<(i32, ElectionKey)> {
        self.absorb();
        self.arrivals().freed.drain(..).collect()
    }

    /// Processes the notifications that arrived before the last answer.
    pub(super) fn absorb(&self) {
        let mut arrivals = self.arrivals();
        while let Ok(message) = arrivals.messages.try_recv() {
            self.sort(&mut arrivals, &message);
        }
    }

    /// A request to hand over waits for the next renewal; everything else waits for the listeners.
    fn sort(&self, arrivals: &mut ArrivalQueue, message: &AsyncMessage) {
        let AsyncMessage::Notification(told) = message else { return };
        if told.channel() != channel_name() && is_own_channel(told.channel()) {
            arrivals.keep(Arrival::Broadcast(told.channel().to_owned(), told.payload().to_owned()));
            return;
        }
        if told.channel() != channel_name() {
            let led = self.held_locks().led(self.now());
            arrivals.heard.extend(self.inbox().deliver(told, &led).into_iter().map(Arrival::Message));
            return;
        }
        let Some(notice) = Notice::read(told) else { return };
        if let Notice::Asked(key, term, handover) = &notice {
            let id = super::super::identifier::lock_id(key);
            self.held_locks().ask(id, *term, handover.clone(), self.now());
        }
        if let Notice::Freed(key, _) = &notice {
            arrivals.freed.push_back((told.process_id(), key.clone()));
        }
        arrivals.keep(Arrival::Notice(told.process_id(), notice));
        if arrivals.freed.len() > MAX_HEARD {
            arrivals.freed.pop_front();
        }
    }

    pub(super) fn inbox(&self) -> MutexGuard<'_, SessionInbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs statements that have no parameters.
    pub(super) async fn run(&self, sql: &str) -> Result<(), PostgresStoreError> {
        if self.is_over() {
            return Err(self.obituary());
        }
        self.wire.run(sql).await.map(drop)
    }

    fn arrivals(&self) -> MutexGuard<'_, ArrivalQueue> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::SeqCst)
    }
}

impl ArrivalQueue {
    fn keep(&mut self, heard: Arrival) {
        self.heard.push_back(heard);
        if self.heard.len() > MAX_HEARD {
            self.heard.pop_front();
        }
    }
}

impl Drop for LockSession {
    fn drop(&mut self) {
        self.close();
    }
}

/// There may be no listener; older ones are of no use.
const MAX_HEARD: usize = 1_024;
