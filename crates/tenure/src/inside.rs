//! Marks the callbacks, handlers and work of a candidacy on their threads: one that waits there for the end of that candidacy,
//! or of its term, would wait for itself.

use std::cell::RefCell;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;

use crate::shared::Shared;

thread_local! {
    /// The innermost last.
    static INSIDE: RefCell<Vec<*const Shared>> = const { RefCell::new(Vec::new()) };
}

/// What runs on this thread belongs to a candidacy, until this is dropped.
pub(crate) struct Inside<'a> {
    /// It must be dropped where it was made.
    _of_this_thread: PhantomData<*const &'a Shared>,
}

/// Marks what runs from here on as part of a candidacy.
pub(crate) fn enter(shared: &Arc<Shared>) -> Inside<'_> {
    INSIDE.with(|inside| inside.borrow_mut().push(Arc::as_ptr(shared)));
    Inside { _of_this_thread: PhantomData }
}

/// Whether what runs here is part of this candidacy.
pub(crate) fn is_inside(shared: &Arc<Shared>) -> bool {
    INSIDE.with(|inside| inside.borrow().contains(&Arc::as_ptr(shared)))
}

/// Marks a future as part of a candidacy, wherever it is polled. Cancel safe if the future is.
pub(crate) async fn within<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _inside = enter(shared);
        future.as_mut().poll(context)
    })
    .await
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.with(|inside| inside.borrow_mut().pop());
    }
}
