//! Hints and broadcasts over a separate connection: `LISTEN` there, `NOTIFY` over the connection for requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use tenure_store::remote::push_hub::{PushHub, PushSink, PushSource};
use tenure_store::{ElectionKey, ElectionName, Hint, Interest, Namespace, StoreError, StoreErrorKind};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Notification, SimpleQueryMessage};

use super::super::connect::{Notifications, Session};
use super::super::endpoint::Endpoint;
use super::super::identifier::channel;
use super::super::pubsub::{ChannelSubscriptions, TELL};
use super::connector::LeaseConnection;
use super::leases::WakeChannel;

/// The watchers of this schema.
pub(super) type LeasePushHub = PushHub<LeasePushSource>;

/// The channels of a process.
pub(super) struct LeasePushSource {
    endpoint: Endpoint,
    node: Arc<LeaseConnection>,
    schema: String,
    /// Wakes this process.
    wake: String,
    /// Announces every change.
    changes: String,
    /// The server process that listens for this one.
    listener: AtomicI32,
    /// Whether the server can be reached, but its notifications do not arrive.
    is_in_vain: AtomicBool,
}

/// A server that takes longer to confirm, or to deliver, is abandoned.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// A pooler with more processes than this may keep one of them listening until it ends it.
const MAX_ERRANDS: usize = 200;
/// A payload that proves that notifications arrive.
const PROBE: &str = "probe";

impl LeasePushSource {
    pub(super) fn new(endpoint: Endpoint, node: Arc<LeaseConnection>, schema: &str) -> Self {
        let process = format!("{:016x}", getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id())));
        Self {
            endpoint,
            node,
            schema: schema.to_owned(),
            wake: channel(&[schema, &process]),
            changes: channel(&[schema]),
            listener: AtomicI32::new(0),
            is_in_vain: AtomicBool::new(false),
        }
    }

    /// The way to wake this process, if it listens.
    pub(super) fn wake_channel(&self, is_heard: bool) -> WakeChannel<'_> {
        let listener = self.listener.load(Ordering::SeqCst);
        if is_heard { WakeChannel { channel: &self.wake, listener } } else { WakeChannel { channel: "", listener: 0 } }
    }

    /// Whether notifications do not arrive here, although they were requested.
    pub(super) fn is_in_vain(&self) -> bool {
        self.is_in_vain.load(Ordering::Relaxed)
    }

    pub(super) fn changes_channel(&self) -> &str {
        &self.changes
    }

    /// Announces new leaders, without waiting.
    pub(super) fn announce(&self, elections: &[ElectionKey]) {
        let changes = self.changes.clone();
        self.notify(elections.iter().map(|key| (changes.clone(), payload(key))).collect());
    }

    /// Wakes the leader of this election, without waiting.
    pub(super) fn wake(&self, channel: &str, key: &ElectionKey) {
        if !channel.is_empty() {
            self.notify(vec![(channel.to_owned(), payload(key))]);
        }
    }

    /// A separate statement, because a full notification queue would undo everything sent with it.
    fn notify(&self, notifications: Vec<(String, String)>) {
        if notifications.is_empty() {
            return;
        }
        let node = Arc::clone(&self.node);
        tokio::spawn(async move {
            let Ok(link) = node.link().await else { return };
            let sent = tokio::time::timeout(ANSWER_TIMEOUT, notify(link.connection(), &notifications)).await;
            if !matches!(sent, Ok(true)) {
                log!(debug, "cannot send a notification; its receivers will poll instead");
            }
        });
    }
}

impl PushSource for LeasePushSource {
    async fn listen(&self, push_sink: &PushSink) -> bool {
        let Ok(Ok((session, messages))) = tokio::time::timeout(ANSWER_TIMEOUT, self.endpoint.connect()).await else {
            return false;
        };
        let broadcasts = ChannelSubscriptions::default();
        let mut listening =
            ListenConnection { channels: self, push_sink, session, messages, hears_changes: false, broadcasts };
        let heard = listening.run().await;
        self.listener.store(0, Ordering::SeqCst);
        heard
    }
}

/// One connection, from start to end.
struct ListenConnection<'a> {
    channels: &'a LeasePushSource,
    push_sink: &'a PushSink,
    session: Session,
    messages: Notifications,
    /// Whether it listens to all changes.
    hears_changes: bool,
    broadcasts: ChannelSubscriptions,
}

impl ListenConnection<'_> {
    /// Returns whether any notification ever arrived.
    async fn run(&mut self) -> bool {
        // Nobody knows whether they would arrive while the server cannot be reached at all.
        let Ok(link) = self.channels.node.link().await else { return false };
        let arrives = self.arrives(link.connection()).await;
        // It would stay open for as long as this one, even if it is replaced.
        drop(link);
        match arrives {
            Some(true) => {}
            Some(false) => {
                self.complain();
                return false;
            }
            None => return false,
        }
        self.channels.is_in_vain.store(false, Ordering::Relaxed);
        self.channels.listener.store(self.session.facts().pid, Ordering::SeqCst);
        for interest in [Interest::Own, Interest::Messages] {
            self.push_sink.now_heard(interest);
        }
        let (node, mut wanted) = (&self.channels.node, self.push_sink.wanted());
        loop {
            let now_wanted = *wanted.borrow_and_update();
            if now_wanted.is_nothing() {
                return true;
            }
            if !self.hear_changes(now_wanted.wants(Interest::All)).await || !self.update_subscriptions().await {
                break;
            }
            tokio::select! {
                () = self.pass_on_all() => break,
                () = node.changes() => if !self.is_alive().await { break },
                _ = wanted.changed() => {}
            }
        }
        self.push_sink.deafened();
        true
    }

    /// Completes when the connection breaks. Cancel safe.
    async fn pass_on_all(&mut self) {
        while let Some(message) = self.messages.recv().await {
            self.pass_on(&message);
        }
    }

    /// Listens to all changes only while somebody wants to: each of them would wake every process that stands by. Returns
    /// whether the server has confirmed it.
    async fn hear_changes(&mut self, is_wanted: bool) -> bool {
        if self.hears_changes == is_wanted {
            return true;
        }
        // A name of our own making: letters, digits and underscores.
        let sql = format!("{} {}", if is_wanted { "LISTEN" } else { "UNLISTEN" }, self.channels.changes);
        if !matches!(tokio::time::timeout(ANSWER_TIMEOUT, self.session.run(&sql)).await, Ok(Ok(_))) {
            return false;
        }
        self.hears_changes = is_wanted;
        if is_wanted {
            self.push_sink.now_heard(Interest::All);
        }
        true
    }

    /// Listens to exactly the broadcasts that have listeners. Returns whether the connection can still be used.
    async fn update_subscriptions(&mut self) -> bool {
        let subscribers = self.push_sink.subscribers();
        while let Some(change) = self.broadcasts.change(&self.channels.schema, subscribers) {
            let made = tokio::time::timeout(ANSWER_TIMEOUT, self.session.run(&change.sql)).await;
            if !matches!(made, Ok(Ok(_))) {
                return false;
            }
            self.broadcasts.changed(change, subscribers);
        }
        true
    }

    /// Listens, and checks whether notifications sent over the other connection arrive here. Behind some poolers they do not.
    /// None if a server that fails or hangs keeps it from being known.
    async fn arrives(&mut self, requests: &Session) -> Option<bool> {
        // Two connections that are served by one process are in truth none: the pooler lends it from statement to statement.
        if self.session.facts().pid == requests.facts().pid {
            return Some(false);
        }
        let listener = tokio::time::timeout(ANSWER_TIMEOUT, self.on_wake("LISTEN")).await.ok()??;
        let probe = [(self.channels.wake.clone(), PROBE.to_owned())];
        if !matches!(tokio::time::timeout(ANSWER_TIMEOUT, notify(requests, &probe)).await, Ok(true)) {
            return None;
        }
        let arrives = tokio::time::timeout(ANSWER_TIMEOUT, self.hears_probe()).await.unwrap_or(Some(false));
        if arrives == Some(false) {
            // Whoever is lent that process next has not asked to be told anything.
            let _ = tokio::time::timeout(ANSWER_TIMEOUT, self.leaves_alone(&listener)).await;
        }
        arrives
    }

    /// Makes a pooler that lends processes undo the `LISTEN` in one of them: it lends that one again sooner or later.
    async fn leaves_alone(&self, listener: &str) {
        for _ in 0..MAX_ERRANDS {
            match self.on_wake("UNLISTEN").await {
                Some(process) if process != listener => {}
                Some(_) | None => return,
            }
        }
    }

    /// Runs a statement on the channel of this handle. Returns the server process that ran it.
    async fn on_wake(&self, verb: &str) -> Option<String> {
        // A name of our own making: letters, digits and underscores. Both statements are one transaction.
        let sql = format!("{verb} {}; SELECT pg_catalog.pg_backend_pid()", self.channels.wake);
        let told = self.session.run(&sql).await.ok()?;
        told.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
    }

    async fn hears_probe(&mut self) -> Option<bool> {
        while let Some(message) = self.messages.recv().await {
            if matches!(&message, AsyncMessage::Notification(told) if told.payload() == PROBE) {
                return Some(true);
            }
            self.pass_on(&message);
        }
        None
    }

    fn pass_on(&self, message: &AsyncMessage) {
        let AsyncMessage::Notification(told) = message else { return };
        if self.broadcasts.pass_on(told.channel(), told.payload(), self.push_sink.subscribers()) {
            return;
        }
        let Some((is_message, hint)) = read(told) else { return };
        let interest = match (told.channel() == self.channels.wake, is_message) {
            (true, true) => Interest::Messages,
            (true, false) => Interest::Own,
            (false, _) => Interest::All,
        };
        self.push_sink.tell(interest, hint);
    }

    /// The connection for requests is new; this one may be broken like its predecessor, without having noticed.
    async fn is_alive(&self) -> bool {
        matches!(tokio::time::timeout(ANSWER_TIMEOUT, self.session.run("SELECT 1")).await, Ok(Ok(_)))
    }

    /// Reports it once, and again only if it has worked in between.
    fn complain(&self) {
        let subscribers = self.push_sink.subscribers();
        subscribers.elections().iter().for_each(|key| subscribers.deafened(key, &self.silence()));
        if !self.channels.is_in_vain.swap(true, Ordering::Relaxed) {
            // Whoever waits for one has to begin to look by itself.
            for interest in [Interest::Own, Interest::All, Interest::Messages] {
                self.push_sink.tell(interest, Hint::anywhere());
            }
            log!(
                warn,
                "PostgreSQL at {}: notifications do not arrive, so candidates poll for changes, which is slower and \
                 costs more; a pooler in transaction mode is the usual cause: connect to the server directly, or use \
                 session mode",
                self.channels.endpoint.place()
            );
        }
    }

    /// The reason why broadcasts are not received.
    fn silence(&self) -> StoreError {
        let message = format!(
            "PostgreSQL at {}: notifications do not arrive, so no broadcasts are received here; a pooler in \
             transaction mode is the usual cause: connect to the server directly, or use session mode",
            self.channels.endpoint.place()
        );
        StoreError::not_sent(StoreErrorKind::Unsupported, message)
    }
}

/// Sends notifications, without waiting for the disk.
async fn notify(session: &Session, notifications: &[(String, String)]) -> bool {
    let (channels, payloads): (Vec<&str>, Vec<&str>) =
        notifications.iter().map(|(channel, payload)| (channel.as_str(), payload.as_str())).unzip();
    let sql = format!("SELECT {TELL}");
    session.query(&sql, &[(&channels, Type::TEXT_ARRAY), (&payloads, Type::TEXT_ARRAY)]).await.is_ok()
}

/// A delay in milliseconds, the namespace and the name, which hold no line breaks.
fn payload(key: &ElectionKey) -> String {
    format!("0\n{}\n{}", key.namespace, key.name)
}

/// Parses a notification; `None` if it is foreign. An `m` instead of a delay means that messages wait.
fn read(told: &Notification) -> Option<(bool, Hint)> {
    let mut lines = told.payload().splitn(3, '\n');
    let first = lines.next()?;
    let is_message = first == "m";
    let after = if is_message { Duration::ZERO } else { Duration::from_millis(first.parse().ok()?) };
    let namespace = Namespace::new(lines.next()?).ok()?;
    let name = ElectionName::new(lines.next()?).ok()?;
    Some((is_message, Hint { key: Some(ElectionKey { namespace, name }), after }))
}
