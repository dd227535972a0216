//! The queue to the thread that owns the connection.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use tenure_store::{StoreError, StoreErrorKind};
use tokio::sync::oneshot;

use super::db_thread::DbThread;

pub(super) type DbRequest = Box<dyn FnOnce(&mut DbThread) + Send>;

/// The sender of requests. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct RequestQueue(SyncSender<DbRequest>);

/// Far more than one driver ever has under way; it bounds the queue behind a stuck disk.
const MAX_REQUESTS: usize = 1_024;

impl RequestQueue {
    pub(super) fn new() -> (Self, Receiver<DbRequest>) {
        let (sender, requests) = sync_channel(MAX_REQUESTS);
        (Self(sender), requests)
    }

    /// Runs this on the thread and waits for it. If dropped before the thread has started it, nothing is done.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut DbThread) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(move |db_thread| {
            if !reply.is_closed() {
                // Whoever asked may have stopped waiting meanwhile.
                let _ = reply.send(act(db_thread));
            }
        })?;
        let lost = |_| StoreError::unknown(StoreErrorKind::Other, "the thread of the SQLite store has panicked");
        answer.await.map_err(lost)
    }

    /// Queues this for the thread without waiting.
    pub(super) fn send(&self, act: impl FnOnce(&mut DbThread) + Send + 'static) -> Result<(), StoreError> {
        self.0.try_send(Box::new(act)).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::not_sent(
                StoreErrorKind::Unavailable,
                format!("{MAX_REQUESTS} requests are already waiting for the SQLite store; is its disk stuck?"),
            ),
            TrySendError::Disconnected(_) => {
                StoreError::not_sent(StoreErrorKind::Other, "the thread of the SQLite store has panicked")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::SqliteStore;

    #[test]
    fn a_job_that_panics_costs_nobody_else_anything() {
        let place = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(place.path().join("a.db")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let error = runtime.block_on(store.requests.run(|_| -> () { panic!("on purpose") })).unwrap_err();
        assert!(error.to_string().contains("has panicked"), "{error}");
        runtime.block_on(store.requests.run(|db_thread| db_thread.on_file(|_, _| Ok(())))).unwrap().unwrap();
    }
}
