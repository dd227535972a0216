//! The stream of hints that a watcher polls.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use tenure_store::{Hint, Interest};
use tokio::io::unix::AsyncFd;
use tokio::sync::broadcast::{self, error::RecvError};

use super::pulse::{News, Pulse};

/// Hints for one watcher. `while_watching` is dropped with the stream.
pub(super) fn hints<T: Send + 'static>(
    pulse: &Arc<Pulse>,
    interest: Interest,
    while_watching: T,
) -> BoxStream<'static, Hint> {
    let listener = Listener {
        news: pulse.subscribe(interest),
        pulse: Arc::clone(pulse),
        descriptor: Descriptor::New,
        interest,
        _while_watching: while_watching,
    };
    unfold(listener, |mut listener| async { Some((listener.next().await, listener)) }).boxed()
}

struct Listener<T> {
    news: broadcast::Receiver<News>,
    pulse: Arc<Pulse>,
    descriptor: Descriptor,
    interest: Interest,
    _while_watching: T,
}

/// Registered on the runtime that polls the stream, which may not be the one it was made on.
pub(super) enum Descriptor {
    New,
    Registered(AsyncFd<OwnedFd>),
    /// Then hints come only from this process, and everybody looks again when a lease runs out.
    Unusable,
}

impl<T> Listener<T> {
    async fn next(&mut self) -> Hint {
        loop {
            tokio::select! {
                biased;
                news = self.news.recv() => match news {
                    // Whoever watches everything hears of its own candidates, too.
                    Ok(News { interest: Interest::All, .. }) if self.interest != Interest::All => {}
                    Ok(News { hint, .. }) => return hint,
                    Err(RecvError::Lagged(_)) => return Hint::anywhere(),
                    Err(RecvError::Closed) => std::future::pending().await,
                },
                () = self.descriptor.take(&self.pulse) => {}
            }
        }
    }
}

impl Descriptor {
    /// Completes after something happened and was told to all watchers. Safe to cancel.
    pub(super) async fn take(&mut self, pulse: &Pulse) {
        if let Self::New = self {
            *self = match pulse.descriptor().and_then(tenure_sys::async_fd) {
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
                if pulse.take() {
                    ready.clear_ready();
                }
            }
            Err(_) => *self = Self::Unusable,
        }
    }
}
