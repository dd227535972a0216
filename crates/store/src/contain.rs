//! Contains panics of foreign code, so that they do not break the thread that runs it.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures_util::FutureExt;

/// Runs a function; if it panics, returns the message of the panic.
///
/// Whatever it changed may be left half changed: use it where nothing is shared, or where every step is one assignment.
pub fn contain<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(message_of)
}

/// Like [`contain`], for a future, which is not polled again after a panic. Cancel safe if the future is.
pub async fn contain_async<F: Future>(future: F) -> Result<F::Output, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(message_of)
}

/// The message of a panic.
pub fn message_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message");
    let text = text.to_owned();
    // A payload is a value of whoever panicked; dropping it may panic once more, and that says nothing new.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
    text
}

/// Polls a future under a waker that contains panics of the application's waker. Cancel safe if the future is.
///
/// The driver wakes whoever waits for it, and wakers are code of the application. One that panics must neither end an
/// election nor keep others from being woken. That it is quick remains its duty, as of all wakers.
pub async fn shielded<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| future.as_mut().poll(&mut Context::from_waker(&shield(context.waker())))).await
}

/// Wraps a waker so that its panics are contained.
pub fn shield(waker: &Waker) -> Waker {
    Waker::from(Arc::new(Shield(Some(waker.clone()))))
}

/// None once it is being dropped.
struct Shield(Option<Waker>);

impl Wake for Shield {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let _ = contain(|| self.0.as_ref().map(Waker::wake_by_ref));
    }
}

impl Drop for Shield {
    fn drop(&mut self) {
        let waker = self.0.take();
        let _ = contain(|| drop(waker));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    struct PanicOnDrop;

    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic_any(Self);
        }
    }

    #[test]
    fn what_a_panic_says_is_told() {
        assert_eq!(contain(|| 7), Ok(7));
        assert_eq!(contain(|| -> () { panic!("on {}", "purpose") }), Err("on purpose".to_owned()));
        assert_eq!(contain(|| -> () { panic_any(7) }), Err("without a message".to_owned()));
    }

    #[test]
    fn a_payload_that_panics_again_is_contained_as_well() {
        assert_eq!(contain(|| -> () { panic_any(PanicOnDrop) }), Err("without a message".to_owned()));
    }
}
