//! The one session that holds all locks of a handle.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tenure_core::Instant;
use tokio::sync::Notify;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Row};

use super::super::connect::{Facts, Messages, Session};
use super::super::error::Fault;
use super::book::Book;
use super::notice::Notice;
use crate::clock::Clock;
use crate::store::StoreErrorKind;

/// A session, and what it holds.
///
/// It is never closed by this end while anybody may trust in a lock that it holds: the server would free the lock at once.
/// So a request that is not answered does not end it; only when all holds have lapsed, it is given up.
pub(super) struct LockSession {
    wire: Session,
    /// Known to this session alone, and kept by it: whatever answers without it is another one.
    pub(super) marker: String,
    pub(super) clock: Clock,
    /// Whoever changes what is locked goes through here, one at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    book: Mutex<Book>,
    inbox: Mutex<Inbox>,
    /// After how long without a request the server ends this session, in milliseconds; 0 is never.
    pub(super) guard_ms: AtomicU32,
    /// How often it has shown that it is alive.
    pub(super) beats: AtomicU32,
    /// A statement failed, and nobody knows which locks it took before.
    pub(super) is_unsure: AtomicBool,
    /// Tells whoever gives back what has lapsed.
    pub(super) changed: Notify,
    fate: OnceLock<String>,
}

/// What has arrived and was not looked at.
struct Inbox {
    messages: Messages,
    notices: VecDeque<(i32, Notice)>,
}

/// A server that takes longer is asked over another connection, unless this one holds something.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much longer than the longest ttl the server waits, so that this process is the first to give back what has lapsed.
const GUARD_MARGIN: Duration = Duration::from_millis(500);

impl LockSession {
    pub(super) fn new(wire: Session, messages: Messages, marker: String, clock: Clock) -> Self {
        Self {
            wire,
            marker,
            clock,
            turn: tokio::sync::Mutex::new(()),
            book: Mutex::default(),
            inbox: Mutex::new(Inbox { messages, notices: VecDeque::new() }),
            guard_ms: AtomicU32::new(0),
            beats: AtomicU32::new(0),
            is_unsure: AtomicBool::new(false),
            changed: Notify::new(),
            fate: OnceLock::new(),
        }
    }

    pub(super) fn facts(&self) -> Facts {
        self.wire.facts()
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all that it held is lost.
    pub(super) fn is_over(&self) -> bool {
        self.wire.is_closed() || self.fate.get().is_some()
    }

    /// Ends it: the server frees all that it held.
    pub(super) fn close(&self) {
        self.wire.close();
    }

    /// It is not what it was, so nothing that it seems to hold counts.
    pub(super) fn condemn(&self, why: String) -> Fault {
        let why = self.fate.get_or_init(|| why).clone();
        tracing::error!("the session is given up: {why}");
        self.close();
        Fault::Replaced(why)
    }

    /// Why nothing more is asked of it.
    pub(super) fn obituary(&self) -> Fault {
        match self.fate.get() {
            Some(why) => Fault::Replaced(why.clone()),
            None => Fault::Unusable(StoreErrorKind::Unavailable, "the session has ended".to_owned()),
        }
    }

    /// Asks, and ends the session if there is no answer and nothing to be lost by it.
    pub(super) async fn ask(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>, Fault> {
        if self.is_over() {
            return Err(self.obituary());
        }
        let mut answer = std::pin::pin!(self.wire.query(sql, parameters));
        loop {
            if let Ok(answer) = tokio::time::timeout(PATIENCE, &mut answer).await {
                return answer;
            }
            if !self.book().is_trusted(self.now()) {
                tracing::debug!("the server does not answer; another connection is tried");
                self.close();
            }
        }
    }

    /// What the server has to wait for, in milliseconds, so that nobody loses a lock in which it may trust: the longest
    /// ttl, since all locks end with the session.
    pub(super) fn guard(&self, more: Option<Duration>) -> u32 {
        let longest = self.book().ttl_max().max(more);
        let guard = longest.map_or(0, |ttl| ttl.saturating_add(GUARD_MARGIN).as_millis());
        u32::try_from(guard).unwrap_or(u32::MAX).min(i32::MAX.unsigned_abs())
    }

    /// The next notice, with the server process it comes from; none when the session has ended. Cancel safe.
    pub(super) async fn hear(&self) -> Option<(i32, Notice)> {
        poll_fn(|context| {
            let mut inbox = self.inbox();
            loop {
                if let Some(notice) = inbox.notices.pop_front() {
                    return Poll::Ready(Some(notice));
                }
                match inbox.messages.poll_recv(context) {
                    Poll::Ready(Some(message)) => self.sort(&mut inbox, &message),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Looks at what has arrived before the last answer.
    pub(super) fn absorb(&self) {
        let mut inbox = self.inbox();
        while let Ok(message) = inbox.messages.try_recv() {
            self.sort(&mut inbox, &message);
        }
    }

    /// A request to hand over waits for the next renewal; everything else waits for those who listen.
    fn sort(&self, inbox: &mut Inbox, message: &AsyncMessage) {
        let AsyncMessage::Notification(told) = message else { return };
        let Some(notice) = Notice::read(told) else { return };
        if let Notice::Asked(key, term, handover) = &notice {
            let id = super::super::identifier::lock_id(key);
            self.book().ask(id, *term, handover.clone(), self.now());
        }
        inbox.notices.push_back((told.process_id(), notice));
        if inbox.notices.len() > NOTICES_MAX {
            inbox.notices.pop_front();
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::SeqCst)
    }
}

impl Drop for LockSession {
    fn drop(&mut self) {
        self.close();
    }
}

/// Nobody may be listening; what is older is of no use.
const NOTICES_MAX: usize = 1_024;
