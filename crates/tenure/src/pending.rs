//! Turns a reader with an async `next` into a stream.

use std::fmt;
use std::future::Future;
use std::task::{Context, Poll};

use tokio_util::sync::ReusableBoxFuture;

/// The wait for the next item of a stream, from one poll to the next. It is `Sync`, so that readers are.
pub(crate) struct PendingNext<T>(Option<ReusableBoxFuture<'static, Option<T>>>);

impl<T> Default for PendingNext<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> PendingNext<T> {
    /// Goes on waiting, or begins to.
    pub(crate) fn poll<F>(&mut self, cx: &mut Context<'_>, next: impl FnOnce() -> F) -> Poll<Option<T>>
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        let item = self.0.get_or_insert_with(|| ReusableBoxFuture::new(next())).poll(cx);
        if item.is_ready() {
            self.clear();
        }
        item
    }

    /// Stops waiting, so that another reader of the same source is notified instead.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> fmt::Debug for PendingNext<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PendingNext").field(&self.0.is_some()).finish()
    }
}
