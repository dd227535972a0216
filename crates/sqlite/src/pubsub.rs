//! Pub/sub: broadcasts are stored for a moment, and listeners are woken to read them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use tenure_store::mailbox::MAX_PAYLOAD;
use tenure_store::pubsub::{Broadcast, PubSub, PubSubEvent, PubSubPromises};
use tenure_store::{ElectionKey, Replies, StoreError, async_trait};

use super::SqliteStore;
use super::broadcast_rows;
use super::database::{Database, Durability};
use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::subscriptions::Subscriptions;
use super::transaction::Transaction;

const PROMISES: PubSubPromises = PubSubPromises {
    max_payload: MAX_PAYLOAD,
    statement: "Broadcasts reach the candidates of this machine that are listening at that moment, at most once; a \
         process that is stopped for a minute, or falls a thousand broadcasts behind, misses some.",
};

/// The database thread's progress in writing and reading broadcasts, in the open file.
#[derive(Debug, Default)]
pub(super) struct BroadcastLog {
    elections: BTreeSet<ElectionKey>,
    /// The number of the last broadcast that was read, or was sent before anything listened.
    last: i64,
}

#[async_trait]
impl PubSub for SqliteStore {
    fn promises(&self) -> PubSubPromises {
        PROMISES
    }

    async fn broadcast(&self, batch: &[Broadcast]) -> Replies<()> {
        self.run_batch(batch, DbThread::broadcast).await
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, PubSubEvent> {
        let wake_listener = self.own_pipes.wake_listener();
        wake_listener.subscriptions().listen(wake_listener, key)
    }
}

impl DbThread {
    /// Nothing waits for the disk: after a power failure no listener is left.
    fn broadcast(&mut self, batch: &[Broadcast]) -> Replies<()> {
        if batch.is_empty() {
            return Vec::new();
        }
        let answers = self.on_file(|db_thread, database| {
            db_thread.write(database, |transaction| {
                let answers = batch
                    .iter()
                    .map(|broadcast| transaction.broadcast(broadcast))
                    .collect::<Result<Vec<_>, SqliteStoreError>>()?;
                broadcast_rows::trim(transaction.connection(), transaction.now())?;
                Ok(answers.into_iter().map(Ok).collect())
            })
        });
        self.replies(batch, answers).into_iter().map(|reply| reply.and_then(|judged| judged)).collect()
    }

    /// Brings up to date who listens here, and reads what was said. What cannot be done now is tried again before the next
    /// job.
    pub(super) fn update_broadcasts(&mut self) {
        let subscriptions = Arc::clone(self.subscriptions());
        if subscriptions.take_change() {
            self.write_down_listeners(&subscriptions);
        }
        if subscriptions.take_call() && !self.broadcast_log().elections.is_empty() {
            self.read_broadcasts(&subscriptions);
        }
    }

    fn write_down_listeners(&mut self, subscriptions: &Subscriptions) {
        let wanted: BTreeSet<ElectionKey> = subscriptions.subscribers().elections().into_iter().collect();
        let changed = if wanted == self.broadcast_log().elections {
            Ok(())
        } else {
            self.on_file(|db_thread, database| db_thread.change_listeners(database, &wanted))
        };
        match changed {
            Ok(()) => wanted.iter().for_each(|key| subscriptions.subscribers().now_heard(key)),
            Err(error) => {
                subscriptions.change_later();
                let known = &self.broadcast_log().elections;
                wanted.difference(known).for_each(|key| subscriptions.subscribers().deafened(key, &error));
            }
        }
    }

    /// Whoever listens already is told first what was said until now; who is new hears nothing of it.
    fn change_listeners(
        &mut self,
        database: &Database,
        wanted: &BTreeSet<ElectionKey>,
    ) -> Result<(), SqliteStoreError> {
        let own = self.show()?;
        let (known, number) = (&self.broadcast_log().elections, self.broadcast_log().last);
        let now = self.clock().now();
        let (said, last) = database.write(Durability::Crash, |connection| {
            let (said, _) = broadcast_rows::after(connection, number, known)?;
            known.difference(wanted).try_for_each(|key| broadcast_rows::unlisten(connection, key, own))?;
            wanted.difference(known).try_for_each(|key| broadcast_rows::listen(connection, key, own))?;
            broadcast_rows::trim(connection, now)?;
            Ok((said, broadcast_rows::last(connection)?))
        })?;
        let subscriptions = Arc::clone(self.subscriptions());
        said.into_iter().for_each(|broadcast| subscriptions.subscribers().tell(broadcast));
        *self.broadcast_log_mut() = BroadcastLog { elections: wanted.clone(), last };
        Ok(())
    }

    fn read_broadcasts(&mut self, subscriptions: &Subscriptions) {
        let read: Result<_, StoreError> = self.on_file(|db_thread, database| {
            let broadcast_log = db_thread.broadcast_log();
            database.read(|connection| broadcast_rows::after(connection, broadcast_log.last, &broadcast_log.elections))
        });
        match read {
            Ok((said, last)) => {
                self.broadcast_log_mut().last = last;
                said.into_iter().for_each(|broadcast| subscriptions.subscribers().tell(broadcast));
            }
            Err(error) => {
                log!(debug, %error, "cannot read broadcasts now");
                subscriptions.call_later();
            }
        }
    }
}

impl Transaction<'_> {
    /// The inner error is the refusal of this broadcast.
    fn broadcast(&mut self, broadcast: &Broadcast) -> Result<Result<(), StoreError>, SqliteStoreError> {
        if let Err(refusal) = PROMISES.check_payload(&broadcast.payload) {
            return Ok(Err(refusal));
        }
        let listeners = broadcast_rows::add(self.connection(), broadcast, self.now())?;
        self.call_listeners(&broadcast.key, listeners);
        Ok(Ok(()))
    }
}
