//! Hints and broadcasts over one separate connection.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt;
use redis::Msg;
use redis::aio::{PubSubSink, PubSubStream};
use tenure_store::remote::envelope;
use tenure_store::remote::push_hub::{PushDemand, PushHub, PushSink, PushSource};
use tenure_store::{ElectionKey, Hint, Interest, StoreError};

use super::deployment::Deployment;
use super::error::RedisStoreError;
use super::keys::Keys;

/// The watchers of these servers.
pub(super) type RedisPushHub = PushHub<RedisPushSource>;

/// The subscriptions of a process.
pub(super) struct RedisPushSource {
    deployment: Arc<Deployment>,
    keys: Keys,
    place: String,
    wake_channel: String,
}

/// A server that takes longer to confirm a subscription, or to answer a ping, is abandoned.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of channels subscribed to with one command.
const CHANNELS_AT_ONCE: usize = 500;

impl RedisPushSource {
    pub(super) fn new(deployment: Arc<Deployment>, keys: Keys, place: String, process: &str) -> Self {
        Self { wake_channel: keys.wake_channel(process), deployment, keys, place }
    }

    /// The channel that wakes this process; empty while nothing listens to it.
    pub(super) fn wake_channel(&self, is_heard: bool) -> &str {
        if is_heard { &self.wake_channel } else { "" }
    }
}

impl PushSource for RedisPushSource {
    async fn listen(&self, push_sink: &PushSink) -> bool {
        PushConnection::run(self, push_sink).await
    }
}

/// One connection, from start to end.
struct PushConnection<'a> {
    channels: &'a RedisPushSource,
    push_sink: &'a PushSink,
    server: Arc<str>,
    sink: PubSubSink,
    subscribed: Vec<Interest>,
    /// The channels of broadcasts, and the elections they belong to.
    broadcasts: BTreeMap<String, ElectionKey>,
}

impl<'a> PushConnection<'a> {
    async fn run(channels: &'a RedisPushSource, push_sink: &'a PushSink) -> bool {
        let deployment = &channels.deployment;
        let Ok(Ok((connection, server))) = tokio::time::timeout(ANSWER_TIMEOUT, deployment.pushes()).await else {
            return false;
        };
        let (sink, mut messages) = connection.split();
        let mut session =
            PushConnection { channels, push_sink, server, sink, subscribed: Vec::new(), broadcasts: BTreeMap::new() };
        let mut wanted = push_sink.wanted();
        let mut has_heard = false;
        loop {
            let now_wanted = *wanted.borrow_and_update();
            if now_wanted.is_nothing() || !session.subscribe(now_wanted).await || !session.update_subscriptions().await
            {
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

    /// Subscribes to wanted channels that are still missing. Returns whether the server has confirmed it.
    async fn subscribe(&mut self, wanted: PushDemand) -> bool {
        // Messages for a leader come on the channel that wakes its process.
        let is_own_wanted = wanted.wants(Interest::Own) || wanted.wants(Interest::Messages);
        let own = (Interest::Own, is_own_wanted, self.channels.wake_channel.clone());
        let all = (Interest::All, wanted.wants(Interest::All), self.channels.keys.changes_channel());
        for (interest, is_wanted, channel) in [own, all] {
            let is_subscribed = self.subscribed.contains(&interest);
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
                self.push_sink.now_heard(interest);
                if interest == Interest::Own {
                    self.push_sink.now_heard(Interest::Messages);
                }
            } else {
                self.subscribed.retain(|subscribed| *subscribed != interest);
                if interest == Interest::Own {
                    self.push_sink.not_heard();
                }
            }
        }
        true
    }

    /// Subscribes to exactly the broadcasts that have listeners. Returns whether the connection can still be used.
    async fn update_subscriptions(&mut self) -> bool {
        let subscribers = self.push_sink.subscribers();
        let mut wanted = BTreeMap::new();
        for key in subscribers.elections() {
            match self.channels.keys.broadcast_channel(&key) {
                Ok(channel) => drop(wanted.insert(channel, key)),
                Err(why) => subscribers.deafened(&key, &why),
            }
        }
        let idle: Vec<String> =
            self.broadcasts.keys().filter(|channel| !wanted.contains_key(*channel)).cloned().collect();
        for channels in idle.chunks(CHANNELS_AT_ONCE) {
            let confirmed = tokio::time::timeout(ANSWER_TIMEOUT, self.sink.unsubscribe(channels)).await;
            if !matches!(confirmed, Ok(Ok(()))) {
                return false;
            }
            self.broadcasts.retain(|channel, _| !channels.contains(channel));
        }
        // Who left and came back before anybody noticed is heard already.
        self.broadcasts.values().for_each(|key| subscribers.now_heard(key));
        wanted.retain(|channel, _| !self.broadcasts.contains_key(channel));
        let new: Vec<(String, ElectionKey)> = wanted.into_iter().collect();
        for chunk in new.chunks(CHANNELS_AT_ONCE) {
            let channels: Vec<&str> = chunk.iter().map(|(channel, _)| channel.as_str()).collect();
            match tokio::time::timeout(ANSWER_TIMEOUT, self.sink.subscribe(channels)).await {
                Ok(Ok(())) => {
                    self.broadcasts.extend(chunk.iter().cloned());
                    chunk.iter().for_each(|(_, key)| subscribers.now_heard(key));
                }
                // The server answers, but does not let us. Hints go on.
                Ok(Err(error)) if error.code().is_some() => {
                    let why = self.refusal(&error);
                    chunk.iter().for_each(|(_, key)| subscribers.deafened(key, &why));
                }
                Ok(Err(_)) | Err(_) => return false,
            }
        }
        true
    }

    fn refusal(&self, error: &redis::RedisError) -> StoreError {
        let text = [error.code(), error.detail()].into_iter().flatten().collect::<Vec<_>>().join(" ");
        RedisStoreError::refused(text).about(&self.channels.place)
    }

    /// Completes when the connection breaks.
    async fn pass_on(&self, messages: &mut PubSubStream) {
        while let Some(message) = messages.next().await {
            if let Some(key) = self.broadcasts.get(message.get_channel_name()) {
                let text = std::str::from_utf8(message.get_payload_bytes()).ok();
                if let Some(broadcast) = text.and_then(|text| envelope::open(key, text)) {
                    self.push_sink.subscribers().tell(broadcast);
                }
            } else if let Some((interest, hint)) = self.read(&message) {
                self.push_sink.tell(interest, hint);
            }
        }
        self.push_sink.deafened();
    }

    /// Parses a delay in milliseconds, or a mark for messages, and the lease. Anything else is foreign.
    fn read(&self, message: &Msg) -> Option<(Interest, Hint)> {
        let text = std::str::from_utf8(message.get_payload_bytes()).ok()?;
        let (word, lease) = text.split_once(' ')?;
        let key = self.channels.keys.election(lease)?;
        let is_own = message.get_channel_name() == self.channels.wake_channel;
        if word == "messages" && is_own {
            return Some((Interest::Messages, Hint::at(key)));
        }
        let hint = Hint { key: Some(key), after: Duration::from_millis(word.parse().ok()?) };
        Some((if is_own { Interest::Own } else { Interest::All }, hint))
    }

    /// The connection for commands broke; this one may be broken as well, without noticing.
    async fn is_alive(&mut self) -> bool {
        let pong = tokio::time::timeout(ANSWER_TIMEOUT, self.sink.ping_message::<redis::Value>("tenure")).await;
        let alive = matches!(pong, Ok(Ok(_))) && !self.channels.deployment.has_left(&self.server);
        if !alive {
            self.push_sink.deafened();
        }
        alive
    }
}
