//! Hints of changes, for observers of elections.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use tokio::sync::mpsc;

use crate::contain::{shield, shielded};
use crate::store::Hint;

/// A [`Stream`] of hints of changes of leadership in a store. Made by [`StoreHandle::hints`](crate::StoreHandle::hints).
///
/// [`Stream`]: https://docs.rs/futures-util/latest/futures_util/stream/trait.Stream.html
///
/// Hints may be lost, late or duplicated: observe, then wait for a hint or for the known expiry, whichever comes first.
#[derive(Debug)]
pub struct Hints(pub(crate) mpsc::Receiver<Hint>);

impl Hints {
    /// Waits for the next hint; `None` when the store sends no more.
    ///
    /// Cancel safe: no hint is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Hint> {
        shielded(self.0.recv()).await
    }

    /// Returns a hint that has already arrived. One observation serves all of them: take them out before it.
    pub fn try_next(&mut self) -> Option<Hint> {
        self.0.try_recv().ok()
    }
}

impl Stream for Hints {
    type Item = Hint;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        self.get_mut().0.poll_recv(&mut Context::from_waker(&shield(cx.waker())))
    }
}
