//! The stream of hints that a watcher polls.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use tenure_store::{Hint, HintWatcher, Interest};
use tokio::io::unix::AsyncFd;

use super::wake_listener::WakeListener;

/// Streams hints to one watcher. `while_watching` is dropped with the stream.
pub(super) fn hints<T: Send + 'static>(
    wake_listener: &Arc<WakeListener>,
    interest: Interest,
    while_watching: T,
) -> BoxStream<'static, Hint> {
    let listener = HintStream {
        hints: wake_listener.hints(interest),
        wake_listener: Arc::clone(wake_listener),
        descriptor: Descriptor::New,
        _while_watching: while_watching,
    };
    unfold(listener, |mut listener| async { listener.next().await.map(|hint| (hint, listener)) }).boxed()
}

struct HintStream<T> {
    hints: HintWatcher,
    wake_listener: Arc<WakeListener>,
    descriptor: Descriptor,
    _while_watching: T,
}

/// Registered on the runtime that polls the stream, which may not be the one it was made on.
pub(super) enum Descriptor {
    New,
    Registered(AsyncFd<OwnedFd>),
    /// Hints come only from this process then, and all candidates look again when a lease runs out.
    Unusable,
}

impl<T> HintStream<T> {
    async fn next(&mut self) -> Option<Hint> {
        loop {
            tokio::select! {
                biased;
                hint = self.hints.next() => return hint,
                () = self.descriptor.take(&self.wake_listener) => {}
            }
        }
    }
}

impl Descriptor {
    /// Completes after an event was forwarded to all watchers. Safe to cancel.
    pub(super) async fn take(&mut self, wake_listener: &WakeListener) {
        if let Self::New = self {
            *self = match wake_listener.descriptor().and_then(tenure_sys::async_fd) {
                Ok(descriptor) => Self::Registered(descriptor),
                Err(error) => {
                    log!(warn, %error, "cannot wait for hints from other processes");
                    Self::Unusable
                }
            };
        }
        let Self::Registered(descriptor) = self else { return std::future::pending().await };
        match descriptor.readable().await {
            Ok(mut ready) => {
                if wake_listener.take() {
                    ready.clear_ready();
                }
            }
            Err(_) => *self = Self::Unusable,
        }
    }
}
