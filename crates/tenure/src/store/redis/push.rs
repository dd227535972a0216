//! Hints over one connection of their own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt;
use redis::Msg;
use redis::aio::{PubSubSink, PubSubStream};

use super::super::remote::hub::{Ear, Hub, Source, Wanted};
use super::super::{Hint, Interest};
use super::deployment::Deployment;
use super::keys::Keys;

/// Those who watch these servers.
pub(super) type Push = Hub<Channels>;

/// What a process subscribes to.
pub(super) struct Channels {
    deployment: Arc<Deployment>,
    keys: Keys,
    wake_channel: String,
}

/// A server that takes longer to confirm a subscription, or to answer a ping, is given up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

impl Channels {
    pub(super) fn new(deployment: Arc<Deployment>, keys: Keys, process: &str) -> Self {
        Self { wake_channel: keys.wake_channel(process), deployment, keys }
    }
}

impl Push {
    /// The channel that wakes this process; empty while nobody would hear it.
    pub(super) fn wake_channel(&self) -> &str {
        if self.is_heard() { &self.source().wake_channel } else { "" }
    }
}

impl Source for Channels {
    async fn listen(&self, ear: &Ear) -> bool {
        Session::run(self, ear).await
    }
}

/// One connection, from its making to its end.
struct Session<'a> {
    channels: &'a Channels,
    ear: &'a Ear,
    server: Arc<str>,
    sink: PubSubSink,
    subscribed: Vec<Interest>,
}

impl<'a> Session<'a> {
    async fn run(channels: &'a Channels, ear: &'a Ear) -> bool {
        let deployment = &channels.deployment;
        let Ok(Ok((connection, server))) = tokio::time::timeout(ANSWER_TIMEOUT, deployment.pushes()).await else {
            return false;
        };
        let (sink, mut messages) = connection.split();
        let mut session = Session { channels, ear, server, sink, subscribed: Vec::new() };
        let mut wanted = ear.wanted();
        let mut has_heard = false;
        loop {
            let now_wanted = *wanted.borrow_and_update();
            if now_wanted.is_nothing() || !session.subscribe(now_wanted).await {
                return has_heard;
            }
            has_heard = true;
            tokio::select! {
                () = session.pass_on(&mut messages) => return true,
                _ = wanted.changed() => {}
                () = deployment.reconnected() => {
                    if !session.is_alive().await {
                        return true;
                    }
                }
            }
        }
    }

    /// Asks for what is wanted and not yet heard. Returns whether the server has confirmed it.
    async fn subscribe(&mut self, wanted: Wanted) -> bool {
        let own = (Interest::Own, self.channels.wake_channel.clone());
        let all = (Interest::All, self.channels.keys.changes_channel());
        for (interest, channel) in [own, all] {
            let (is_wanted, is_subscribed) = (wanted.wants(interest), self.subscribed.contains(&interest));
            let confirmed = match (is_wanted, is_subscribed) {
                (true, false) => tokio::time::timeout(ANSWER_TIMEOUT, self.sink.subscribe(channel)).await,
                (false, true) => tokio::time::timeout(ANSWER_TIMEOUT, self.sink.unsubscribe(channel)).await,
                (true, true) | (false, false) => continue,
            };
            if !matches!(confirmed, Ok(Ok(()))) {
                return false;
            }
            if is_wanted {
                self.subscribed.push(interest);
                self.ear.now_heard(interest);
            } else {
                self.subscribed.retain(|subscribed| *subscribed != interest);
                if interest == Interest::Own {
                    self.ear.not_heard();
                }
            }
        }
        true
    }

    /// Completes when the connection breaks.
    async fn pass_on(&self, messages: &mut PubSubStream) {
        while let Some(message) = messages.next().await {
            let is_own = message.get_channel_name() == self.channels.wake_channel;
            if let Some(hint) = self.read(&message) {
                self.ear.tell(if is_own { Interest::Own } else { Interest::All }, hint);
            }
        }
        self.ear.deafened();
    }

    /// A delay in milliseconds and the lease. What is neither is somebody else's.
    fn read(&self, message: &Msg) -> Option<Hint> {
        let text = std::str::from_utf8(message.get_payload_bytes()).ok()?;
        let (delay, lease) = text.split_once(' ')?;
        let after = Duration::from_millis(delay.parse().ok()?);
        Some(Hint { key: Some(self.channels.keys.election(lease)?), after })
    }

    /// The connection for commands broke; this one may have gone the same way, and have nothing to notice it by.
    async fn is_alive(&mut self) -> bool {
        let pong = tokio::time::timeout(ANSWER_TIMEOUT, self.sink.ping_message::<redis::Value>("tenure")).await;
        let alive = matches!(pong, Ok(Ok(_))) && !self.channels.deployment.has_left(&self.server);
        if !alive {
            self.ear.deafened();
        }
        alive
    }
}
