//! Hints and broadcasts from a server to all watchers and listeners, over one separate connection.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt};
use tenure_core::Backoff;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::subscribers::Subscribers;
use crate::{ElectionKey, Hint, HintChannel, Interest, PubSubEvent};

/// The other end of a connection for pushes.
pub trait PushSource: Send + Sync + 'static {
    /// Connects, listens and forwards notifications, until the connection breaks or no watcher is left. Returns
    /// whether it ever worked.
    fn listen(&self, push_sink: &PushSink) -> impl Future<Output = bool> + Send;
}

/// All watchers and listeners of one server. The connection exists as long as there are any.
pub struct PushHub<S: PushSource> {
    source: Arc<S>,
    push_sink: Arc<PushSink>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// A source's access to the watchers: their demand, and how to reach them.
pub struct PushSink {
    wanted: watch::Sender<PushDemand>,
    hints: HintChannel,
    /// The listeners to broadcasts.
    subscribers: Arc<Subscribers>,
    /// Whether the server has confirmed that it will wake this process.
    is_heard: AtomicBool,
    /// Whether a candidate stood by before that confirmation, and could not be woken.
    is_deaf: AtomicBool,
}

/// The number of streams that want each kind of notification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PushDemand {
    own: usize,
    all: usize,
    messages: usize,
    broadcasts: usize,
}

/// Between a connection that ended and the next one. One that never worked counts as a failure.
const RECONNECT: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));

impl<S: PushSource> PushHub<S> {
    /// Starts without watchers, and so without a connection.
    pub fn new(source: S) -> Self {
        let push_sink = PushSink {
            wanted: watch::Sender::default(),
            hints: HintChannel::default(),
            subscribers: Arc::default(),
            is_heard: AtomicBool::new(false),
            is_deaf: AtomicBool::new(false),
        };
        Self { source: Arc::new(source), push_sink: Arc::new(push_sink), listener: Mutex::default() }
    }

    /// The source, for direct requests.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Whether the server has confirmed that it will send hints.
    pub fn is_heard(&self) -> bool {
        self.push_sink.is_heard.load(Ordering::SeqCst)
    }

    /// Whether a watcher wants hints and would not get them.
    pub fn is_unheard(&self) -> bool {
        self.push_sink.wanted.borrow().wants(Interest::Own) && !self.is_heard()
    }

    /// Records that a candidate stands by although no hints arrive. It gets a hint to ask again when they do.
    pub fn stood_by_unheard(&self) {
        self.push_sink.is_deaf.store(true, Ordering::SeqCst);
        // The server may have confirmed while the campaign was under way, and then nobody else tells it.
        if self.is_heard() {
            self.push_sink.look_again_if_deaf();
        }
    }

    /// Forwards a hint from this process itself.
    pub fn tell(&self, interest: Interest, hint: Hint) {
        self.push_sink.tell(interest, hint);
    }

    /// A stream of hints. Must be called on a runtime.
    pub fn watch(self: &Arc<Self>, interest: Interest) -> BoxStream<'static, Hint> {
        let hints = self.push_sink.hints.watch(interest);
        self.push_sink.wanted.send_modify(|wanted| *wanted.count(interest) += 1);
        self.listen();
        hints.into_stream(Watcher { hub: Arc::clone(self), interest })
    }

    /// Streams the broadcasts to an election. Must be called on a runtime.
    pub fn listen_to(self: &Arc<Self>, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        let listener = self.push_sink.subscribers.join(key, Subscription(Arc::clone(self)));
        self.push_sink.wanted.send_modify(|wanted| wanted.broadcasts += 1);
        self.listen();
        listener.boxed()
    }

    fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        // The runtime it ran on may be gone.
        if listener.as_ref().is_none_or(JoinHandle::is_finished) {
            *listener = Some(tokio::spawn(listen(Arc::clone(&self.source), Arc::clone(&self.push_sink))));
        }
    }
}

impl<S: PushSource> Drop for PushHub<S> {
    fn drop(&mut self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = listener.take() {
            listener.abort();
        }
    }
}

/// A live stream of hints.
struct Watcher<S: PushSource> {
    hub: Arc<PushHub<S>>,
    interest: Interest,
}

impl<S: PushSource> Drop for Watcher<S> {
    fn drop(&mut self) {
        self.hub.push_sink.wanted.send_modify(|wanted| *wanted.count(self.interest) -= 1);
    }
}

/// A live stream of broadcasts.
struct Subscription<S: PushSource>(Arc<PushHub<S>>);

impl<S: PushSource> Drop for Subscription<S> {
    fn drop(&mut self) {
        self.0.push_sink.wanted.send_modify(|wanted| wanted.broadcasts -= 1);
    }
}

impl PushDemand {
    /// Whether any stream wants this.
    pub fn wants(mut self, interest: Interest) -> bool {
        *self.count(interest) > 0
    }

    /// Whether no stream wants anything.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    fn count(&mut self, interest: Interest) -> &mut usize {
        match interest {
            Interest::Own => &mut self.own,
            Interest::All => &mut self.all,
            Interest::Messages => &mut self.messages,
        }
    }
}

impl PushSink {
    /// The current demand, and its changes.
    pub fn wanted(&self) -> watch::Receiver<PushDemand> {
        self.wanted.subscribe()
    }

    /// The listeners to broadcasts. The [demand](Self::wanted) changes when they come or go.
    pub fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Forwards a hint. It is fine if no watcher is left.
    pub fn tell(&self, interest: Interest, hint: Hint) {
        self.hints.tell(interest, hint);
    }

    /// Records that the server has confirmed that it sends these hints from now on. Earlier ones may have been missed.
    pub fn now_heard(&self, interest: Interest) {
        match interest {
            Interest::Own => {
                self.is_heard.store(true, Ordering::SeqCst);
                self.look_again_if_deaf();
            }
            Interest::All | Interest::Messages => self.tell(interest, Hint::anywhere()),
        }
    }

    /// Records that the server sends no hints from now on.
    pub fn not_heard(&self) {
        self.is_heard.store(false, Ordering::SeqCst);
    }

    /// A candidate that stands by now cannot be woken, and has to ask again afterwards.
    pub fn deafened(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    /// Sends those who stood by unheard to ask again. Whichever comes last, their standing by or the confirmation that
    /// they will be woken, calls this; so each writes its own flag first, and all agree on the order.
    fn look_again_if_deaf(&self) {
        if self.is_deaf.swap(false, Ordering::SeqCst) {
            self.tell(Interest::Own, Hint::anywhere());
        }
    }
}

async fn listen<S: PushSource>(source: Arc<S>, push_sink: Arc<PushSink>) {
    let mut wanted = push_sink.wanted();
    let mut attempts = 1_u32;
    // Ends with the hub, which holds the other end.
    while wanted.wait_for(|wanted| !wanted.is_nothing()).await.is_ok() {
        let has_heard = source.listen(&push_sink).await;
        push_sink.not_heard();
        push_sink.subscribers.interrupted();
        attempts = if has_heard { 1 } else { attempts.saturating_add(1) };
        tokio::time::sleep(RECONNECT.ceiling(attempts)).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    struct Silence;

    impl PushSource for Silence {
        async fn listen(&self, _push_sink: &PushSink) -> bool {
            false
        }
    }

    /// The campaign went out without a channel, and its answer was read after the subscription was confirmed.
    #[test]
    fn who_stood_by_while_the_subscription_was_confirmed_is_told_to_ask_again() {
        let hub = PushHub::new(Silence);
        let mut hints = hub.push_sink.hints.watch(Interest::Own);
        assert!(!hub.is_heard());
        hub.push_sink.now_heard(Interest::Own);
        assert_eq!(hints.next().now_or_never(), None, "nobody stood by yet");
        hub.stood_by_unheard();
        assert_eq!(hints.next().now_or_never(), Some(Some(Hint::anywhere())));
        assert_eq!(hints.next().now_or_never(), None, "once is enough");
    }
}
