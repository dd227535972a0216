//! The listeners to broadcasts through one handle, by election.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;

use super::{Broadcast, ElectionKey, PubSubEvent, StoreError};

/// All listeners.
#[derive(Debug, Default)]
pub struct Subscribers {
    by_election: Mutex<BTreeMap<ElectionKey, ElectionSubscribers>>,
}

/// The listeners to one election.
#[derive(Debug, Default)]
struct ElectionSubscribers {
    queues: Vec<SubscriberQueue>,
    state: SubscriptionState,
}

/// Whether broadcasts of an election arrive, for listeners that come later.
#[derive(Debug, Default, Clone)]
enum SubscriptionState {
    #[default]
    Waiting,
    Listening,
    Interrupted(StoreError),
}

#[derive(Debug)]
struct SubscriberQueue {
    sender: mpsc::Sender<PubSubEvent>,
    missed: u64,
}

/// The queue limit for a listener that does not keep up.
const MAX_WAITING: usize = 256;

impl Subscribers {
    /// Adds a listener. `on_leave` is dropped with the stream, after the queue is gone.
    pub fn join<T: Send + Unpin + 'static>(self: &Arc<Self>, key: &ElectionKey, on_leave: T) -> BroadcastStream<T> {
        let (sender, heard) = mpsc::channel(MAX_WAITING);
        let mut queue = SubscriberQueue { sender, missed: 0 };
        let mut by_election = self.by_election();
        let election = by_election.entry(key.clone()).or_default();
        match &election.state {
            SubscriptionState::Waiting => {}
            SubscriptionState::Listening => queue.tell(PubSubEvent::Listening),
            SubscriptionState::Interrupted(why) => queue.tell(PubSubEvent::Interrupted(why.clone())),
        }
        election.queues.push(queue);
        BroadcastStream { heard: Some(heard), key: key.clone(), subscribers: Arc::clone(self), _on_leave: on_leave }
    }

    /// The elections that have a listener.
    pub fn elections(&self) -> Vec<ElectionKey> {
        self.by_election().keys().cloned().collect()
    }

    /// Records that broadcasts to this election arrive from now on.
    pub fn now_heard(&self, key: &ElectionKey) {
        let is_known = |state: &SubscriptionState| matches!(state, SubscriptionState::Listening);
        self.change(key, is_known, SubscriptionState::Listening, &PubSubEvent::Listening);
    }

    /// Records that broadcasts to this election do not arrive, until [`now_heard`](Self::now_heard) is called.
    pub fn deafened(&self, key: &ElectionKey, why: &StoreError) {
        let is_known = |state: &SubscriptionState| matches!(state, SubscriptionState::Interrupted(known) if known.to_string() == why.to_string());
        self.change(key, is_known, SubscriptionState::Interrupted(why.clone()), &PubSubEvent::Interrupted(why.clone()));
    }

    /// Records that the connection is gone. New listeners have to wait for another one.
    pub fn interrupted(&self) {
        for election in self.by_election().values_mut() {
            if matches!(election.state, SubscriptionState::Listening) {
                election.state = SubscriptionState::Waiting;
            }
        }
    }

    /// Forwards a broadcast to the listeners of its election.
    pub fn tell(&self, broadcast: Broadcast) {
        if let Some(election) = self.by_election().get_mut(&broadcast.key) {
            election.tell(&PubSubEvent::Broadcast(broadcast));
        }
    }

    /// Skips states that all listeners already know.
    fn change(
        &self,
        key: &ElectionKey,
        is_known: impl FnOnce(&SubscriptionState) -> bool,
        state: SubscriptionState,
        heard: &PubSubEvent,
    ) {
        if let Some(election) = self.by_election().get_mut(key)
            && !is_known(&election.state)
        {
            election.state = state;
            election.tell(heard);
        }
    }

    fn leave(&self, key: &ElectionKey) {
        let mut by_election = self.by_election();
        if let Some(election) = by_election.get_mut(key) {
            election.queues.retain(|queue| !queue.sender.is_closed());
            if election.queues.is_empty() {
                by_election.remove(key);
            }
        }
    }

    /// A panic elsewhere cannot leave it half changed: every step consists of plain assignments.
    fn by_election(&self) -> MutexGuard<'_, BTreeMap<ElectionKey, ElectionSubscribers>> {
        self.by_election.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ElectionSubscribers {
    fn tell(&mut self, heard: &PubSubEvent) {
        self.queues.iter_mut().for_each(|queue| queue.tell(heard.clone()));
    }
}

impl SubscriberQueue {
    /// Never waits for a slow listener: it learns how much it has missed as soon as there is room.
    fn tell(&mut self, heard: PubSubEvent) {
        let needed = 1 + usize::from(self.missed > 0);
        if self.sender.capacity() < needed {
            self.missed += u64::from(matches!(heard, PubSubEvent::Broadcast(_)));
            return;
        }
        if self.missed > 0 {
            let _ = self.sender.try_send(PubSubEvent::Missed(std::mem::take(&mut self.missed)));
        }
        let _ = self.sender.try_send(heard);
    }
}

/// The stream of one listener, which never ends.
#[derive(Debug)]
pub struct BroadcastStream<T> {
    /// Gone when the queue is dropped.
    heard: Option<mpsc::Receiver<PubSubEvent>>,
    key: ElectionKey,
    subscribers: Arc<Subscribers>,
    _on_leave: T,
}

impl<T: Unpin> Stream for BroadcastStream<T> {
    type Item = PubSubEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<PubSubEvent>> {
        match self.get_mut().heard.as_mut() {
            Some(heard) => heard.poll_recv(context),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for BroadcastStream<T> {
    fn drop(&mut self) {
        self.heard = None;
        self.subscribers.leave(&self.key);
    }
}
