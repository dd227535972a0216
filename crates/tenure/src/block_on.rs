//! Blocks a plain thread on a future.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Nothing came within the time that a reader was given. The reader goes on, and nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing came within the given time")]
pub struct ReadTimedOut;

/// Runs a future to its end on this thread. The futures of this crate need no runtime around them.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    match poll_until(future, None) {
        Some(output) => output,
        None => unreachable!("without a limit there is no giving up"),
    }
}

/// Runs a future for at most `limit`.
pub(crate) fn block_on_for<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    poll_until(future, Instant::now().checked_add(limit))
}

fn poll_until<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(UnparkWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(Duration::ZERO) => return None,
            Some(left) => thread::park_timeout(left),
        }
    }
}

struct UnparkWaker(Thread);

impl Wake for UnparkWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_another_thread() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(block_on(receiver).unwrap(), 7);
        other.join().unwrap();
    }

    #[test]
    fn gives_up_after_the_limit() {
        assert_eq!(block_on_for(std::future::pending::<()>(), Duration::from_millis(1)), None);
        assert_eq!(block_on_for(std::future::ready(7), Duration::ZERO), Some(7));
    }
}
