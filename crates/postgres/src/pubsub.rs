//! Broadcasts as notifications, on one channel per election.

use std::collections::BTreeMap;

use tenure_store::pubsub::{Broadcast, PubSubPromises};
use tenure_store::remote::envelope::{self, MAX_ENVELOPE_BYTES};
use tenure_store::subscribers::Subscribers;
use tenure_store::{ElectionKey, Replies, StoreError};
use tokio_postgres::types::{ToSql, Type};

use super::identifier::channel;

pub(super) const PROMISES: PubSubPromises = PubSubPromises {
    // What the server takes as a notification, without what else has to be in it.
    max_payload: 7_999 - MAX_ENVELOPE_BYTES,
    statement: "Broadcasts are notifications: they reach the candidates that are connected at that moment, at most \
         once; behind a pooler in transaction mode they do not arrive.",
};

/// Sends notifications, and does not wait for them to reach a disk. With several arrays `unnest` is always the server's own.
pub(super) const TELL: &str = "pg_catalog.set_config('synchronous_commit', 'off', true), \
                               pg_catalog.pg_notify(channel, payload) FROM unnest($1, $2) AS told (channel, payload)";

/// The number of channels listened to with one request.
const CHANNELS_AT_ONCE: usize = 500;

/// The channel of an election in this place.
fn channel_of(place: &str, key: &ElectionKey) -> String {
    channel(&[place, "broadcasts", key.namespace.as_str(), key.name.as_str()])
}

/// A batch of broadcasts, as channels and payloads of notifications. The server makes one of two notifications that are the
/// same in one transaction, but no two broadcasts are the same: they have ids.
pub(super) struct Announcement {
    channels: Vec<String>,
    payloads: Vec<String>,
    judged: Replies<()>,
}

impl Announcement {
    pub(super) fn new(place: &str, batch: &[Broadcast]) -> Self {
        let judged: Replies<()> = batch.iter().map(|broadcast| PROMISES.check_payload(&broadcast.payload)).collect();
        let fitting = batch.iter().zip(&judged).filter(|(_, judged)| judged.is_ok()).map(|(broadcast, _)| broadcast);
        let (channels, payloads) =
            fitting.map(|broadcast| (channel_of(place, &broadcast.key), envelope::seal(broadcast))).unzip();
        Self { channels, payloads, judged }
    }

    /// Whether nothing of the batch can be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// The parameters of [`TELL`].
    pub(super) fn parameters(&self) -> [(&(dyn ToSql + Sync), Type); 2] {
        [(&self.channels, Type::TEXT_ARRAY), (&self.payloads, Type::TEXT_ARRAY)]
    }

    /// The replies, once the outcome of everything that could be sent is known.
    pub(super) fn replies(self, told: &Result<(), StoreError>) -> Replies<()> {
        self.judged.into_iter().map(|judged| judged.and_then(|()| told.clone())).collect()
    }
}

/// The subscriptions of one session: the channels of broadcasts, and the elections they belong to.
#[derive(Debug, Default)]
pub(super) struct ChannelSubscriptions(BTreeMap<String, ElectionKey>);

/// A request to the server to change subscriptions.
pub(super) struct ChannelChange {
    pub(super) sql: String,
    idle: Vec<String>,
    new: Vec<(String, ElectionKey)>,
}

impl ChannelSubscriptions {
    /// The next step towards exactly the subscriptions that have listeners.
    pub(super) fn change(&self, place: &str, subscribers: &Subscribers) -> Option<ChannelChange> {
        let wanted: BTreeMap<String, ElectionKey> =
            subscribers.elections().into_iter().map(|key| (channel_of(place, &key), key)).collect();
        // Who left and came back before anybody noticed is heard already.
        wanted
            .iter()
            .filter(|(channel, _)| self.0.contains_key(*channel))
            .for_each(|(_, key)| subscribers.now_heard(key));
        let idle = self.0.keys().filter(|channel| !wanted.contains_key(*channel));
        let idle: Vec<String> = idle.take(CHANNELS_AT_ONCE).cloned().collect();
        let new = wanted.into_iter().filter(|(channel, _)| !self.0.contains_key(channel));
        let new: Vec<(String, ElectionKey)> = new.take(CHANNELS_AT_ONCE).collect();
        // Names of our own making: letters, digits and underscores.
        let unlisten = idle.iter().map(|channel| format!("UNLISTEN {channel};"));
        let sql: String = unlisten.chain(new.iter().map(|(channel, _)| format!("LISTEN {channel};"))).collect();
        (!sql.is_empty()).then_some(ChannelChange { sql, idle, new })
    }

    /// Records that the server has confirmed it.
    pub(super) fn changed(&mut self, change: ChannelChange, subscribers: &Subscribers) {
        for channel in change.idle {
            self.0.remove(&channel);
        }
        for (channel, key) in change.new {
            subscribers.now_heard(&key);
            self.0.insert(channel, key);
        }
    }

    /// Forwards a notification on a channel. False if it is none of these channels; malformed broadcasts are skipped.
    pub(super) fn pass_on(&self, channel: &str, payload: &str, subscribers: &Subscribers) -> bool {
        let Some(key) = self.0.get(channel) else { return false };
        if let Some(broadcast) = envelope::open(key, payload) {
            subscribers.tell(broadcast);
        }
        true
    }
}
