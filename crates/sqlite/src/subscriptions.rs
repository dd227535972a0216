//! The listeners to broadcasts through this store, as the database thread needs them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use futures_util::stream::{BoxStream, StreamExt};
use tenure_store::subscribers::Subscribers;
use tenure_store::{ElectionKey, PubSubEvent};
use tokio::task::JoinHandle;

use super::hint_stream::Descriptor;
use super::request_queue::RequestQueue;
use super::wake_listener::WakeListener;

/// What was said is read by the database thread, before its next request; here it is told that there is something to read, and that
/// listeners have come or gone.
#[derive(Default)]
pub(super) struct Subscriptions {
    subscribers: Arc<Subscribers>,
    has_changed: AtomicBool,
    is_called: AtomicBool,
    requests: OnceLock<Weak<RequestQueue>>,
    /// The task that reads the wake pipe.
    pipe_reader: Mutex<Option<JoinHandle<()>>>,
}

impl Subscriptions {
    /// Sets the queue of the database thread.
    pub(super) fn serve(&self, requests: &Arc<RequestQueue>) {
        let _ = self.requests.set(Arc::downgrade(requests));
    }

    pub(super) fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Streams the broadcasts to an election. Must be called on a runtime.
    pub(super) fn listen(
        self: &Arc<Self>,
        wake_listener: &Arc<WakeListener>,
        key: &ElectionKey,
    ) -> BoxStream<'static, PubSubEvent> {
        self.read_wake_pipe(wake_listener);
        let listener = self.subscribers.join(key, SubscriptionGuard(Arc::clone(self)));
        self.change();
        listener.boxed()
    }

    /// Reports that there may be something to read.
    pub(super) fn call(&self) {
        if !self.is_called.swap(true, Ordering::AcqRel) {
            self.wake_db_thread();
        }
    }

    /// The same, without calling the database thread now.
    pub(super) fn call_later(&self) {
        self.is_called.store(true, Ordering::Release);
    }

    /// Takes the report that there may be something to read.
    pub(super) fn take_call(&self) -> bool {
        self.is_called.swap(false, Ordering::AcqRel)
    }

    /// Reports that the list of listeners must be written again.
    pub(super) fn change(&self) {
        self.has_changed.store(true, Ordering::Release);
        self.wake_db_thread();
    }

    /// The same, without calling the database thread now.
    pub(super) fn change_later(&self) {
        self.has_changed.store(true, Ordering::Release);
    }

    /// Takes the report that the list must be written again.
    pub(super) fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::AcqRel)
    }

    /// A thread that has too much to do still looks before its next request.
    fn wake_db_thread(&self) {
        if let Some(requests) = self.requests.get().and_then(Weak::upgrade) {
            let _ = requests.send(|_| ());
        }
    }

    /// Runs one task for all listeners: each would need a descriptor of its own.
    fn read_wake_pipe(&self, wake_listener: &Arc<WakeListener>) {
        let mut pipe_reader = self.pipe_reader.lock().unwrap_or_else(PoisonError::into_inner);
        // The runtime it ran on may be gone.
        if pipe_reader.as_ref().is_none_or(JoinHandle::is_finished) {
            let wake_listener = Arc::downgrade(wake_listener);
            *pipe_reader = Some(tokio::spawn(async move {
                let mut descriptor = Descriptor::New;
                while let Some(wake_listener) = wake_listener.upgrade() {
                    descriptor.take(&wake_listener).await;
                }
            }));
        }
    }

    /// Ends the task: the store is closed.
    pub(super) fn end(&self) {
        let mut pipe_reader = self.pipe_reader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe_reader) = pipe_reader.take() {
            pipe_reader.abort();
        }
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions").field("subscribers", &self.subscribers).finish_non_exhaustive()
    }
}

/// A live stream of broadcasts.
struct SubscriptionGuard(Arc<Subscriptions>);

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        self.0.change();
    }
}
