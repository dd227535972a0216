//! The one session that holds all locks of a handle.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tenure_core::Instant;
use tenure_store::clock::Clock;
use tenure_store::{ElectionKey, StoreErrorKind};
use tokio::sync::Notify;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Row};

use super::super::connect::{Facts, Messages, Session};
use super::super::error::Fault;
use super::super::identifier::is_own_channel;
use super::book::Book;
use super::letters::Letters;
use super::notice::{Notice, channel_name};

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
    letters: Mutex<Letters>,
    /// After how long without a request the server ends this session, in milliseconds; 0 is never.
    pub(super) guard_ms: AtomicU32,
    /// How often it has shown that it is alive.
    pub(super) beats: AtomicU32,
    /// How many were last seen to wait for its end.
    pub(super) waiters: AtomicI64,
    /// How often it has freed locks.
    releases: AtomicU32,
    /// A statement failed, and nobody knows which locks it took before.
    pub(super) is_unsure: AtomicBool,
    /// Tells whoever gives back what has lapsed.
    pub(super) changed: Notify,
    is_closed: AtomicBool,
    fate: OnceLock<String>,
}

/// What has arrived and was not looked at.
struct Inbox {
    messages: Messages,
    heard: VecDeque<Heard>,
    /// Who has given what back, for whoever takes it next.
    freed: VecDeque<(i32, ElectionKey)>,
}

/// Something that has arrived.
#[derive(Debug)]
pub(super) enum Heard {
    /// A notice, from this server process.
    Notice(i32, Notice),
    /// A message to the leader of an election, which is this process.
    Letter(ElectionKey),
    /// A broadcast: its channel, and what was notified there.
    Broadcast(String, String),
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
            inbox: Mutex::new(Inbox { messages, heard: VecDeque::new(), freed: VecDeque::new() }),
            letters: Mutex::default(),
            guard_ms: AtomicU32::new(0),
            beats: AtomicU32::new(0),
            waiters: AtomicI64::new(0),
            releases: AtomicU32::new(0),
            is_unsure: AtomicBool::new(false),
            changed: Notify::new(),
            is_closed: AtomicBool::new(false),
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
        self.is_closed.load(Ordering::SeqCst) || self.wire.is_closed()
    }

    /// Ends it: the server frees all that it held.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.wire.close();
    }

    /// It is not what it was, so nothing that it seems to hold counts.
    pub(super) fn condemn(&self, why: String) -> Fault {
        let why = self.fate.get_or_init(|| why).clone();
        log!(error, "the session is given up: {why}");
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
                if matches!(answer, Err(Fault::Lost(_))) {
                    // The server may say so a moment before it is seen that the connection is broken.
                    self.close();
                }
                return answer;
            }
            if !self.book().is_trusted(self.now()) {
                log!(debug, "the server does not answer; another connection is tried");
                self.close();
            }
        }
    }

    /// A number for the next release, which no other one of this session has.
    pub(super) fn next_release(&self) -> String {
        self.releases.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// What the server has to wait for, in milliseconds, so that nobody loses a lock in which it may trust: the longest
    /// ttl, since all locks end with the session.
    pub(super) fn guard(&self, more: Option<Duration>) -> u32 {
        let longest = self.book().ttl_max().max(more);
        let guard = longest.map_or(0, |ttl| ttl.saturating_add(GUARD_MARGIN).as_millis());
        u32::try_from(guard).unwrap_or(u32::MAX).min(i32::MAX.unsigned_abs())
    }

    /// The next thing that has arrived; none when the session has ended. Cancel safe.
    pub(super) async fn hear(&self) -> Option<Heard> {
        poll_fn(|context| {
            let mut inbox = self.inbox();
            loop {
                if let Some(heard) = inbox.heard.pop_front() {
                    return Poll::Ready(Some(heard));
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

    /// Who has given what back since this was last asked, as far as it has arrived.
    pub(super) fn take_freed(&self) -> Vec<(i32, ElectionKey)> {
        self.absorb();
        self.inbox().freed.drain(..).collect()
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
        if told.channel() != channel_name() && is_own_channel(told.channel()) {
            inbox.keep(Heard::Broadcast(told.channel().to_owned(), told.payload().to_owned()));
            return;
        }
        if told.channel() != channel_name() {
            let led = self.book().led(self.now());
            inbox.heard.extend(self.letters().deliver(told, &led).into_iter().map(Heard::Letter));
            return;
        }
        let Some(notice) = Notice::read(told) else { return };
        if let Notice::Asked(key, term, handover) = &notice {
            let id = super::super::identifier::lock_id(key);
            self.book().ask(id, *term, handover.clone(), self.now());
        }
        if let Notice::Freed(key, _) = &notice {
            inbox.freed.push_back((told.process_id(), key.clone()));
        }
        inbox.keep(Heard::Notice(told.process_id(), notice));
        if inbox.freed.len() > HEARD_MAX {
            inbox.freed.pop_front();
        }
    }

    pub(super) fn letters(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs statements that have no parameters.
    pub(super) async fn run(&self, sql: &str) -> Result<(), Fault> {
        if self.is_over() {
            return Err(self.obituary());
        }
        self.wire.run(sql).await.map(drop)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::SeqCst)
    }
}

impl Inbox {
    fn keep(&mut self, heard: Heard) {
        self.heard.push_back(heard);
        if self.heard.len() > HEARD_MAX {
            self.heard.pop_front();
        }
    }
}

impl Drop for LockSession {
    fn drop(&mut self) {
        self.close();
    }
}

/// Nobody may be listening; what is older is of no use.
const HEARD_MAX: usize = 1_024;
