//! The bulletin: what is said to all is written down for a moment, and those who listen are woken to read it.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure_store::bulletin::{Broadcast, Bulletin, BulletinPromises, Heard};
use tenure_store::mailbox::PAYLOAD_MAX;
use tenure_store::{ElectionKey, Replies, StoreError};

use super::SqliteStore;
use super::broadcasts;
use super::database::{Database, Durability};
use super::desk::Desk;
use super::error::Fault;
use super::hearing::Hearing;
use super::worker::Worker;

const PROMISES: BulletinPromises = BulletinPromises {
    payload_max: PAYLOAD_MAX,
    statement: "Broadcasts reach the candidates of this machine that listen at that moment, at most once; a process that is \
                stopped for a minute, or falls a thousand behind, misses some.",
};

/// What the worker has written down and read of broadcasts, in the file that is open.
#[derive(Debug, Default)]
pub(super) struct Attendance {
    elections: BTreeSet<ElectionKey>,
    /// The number of the last broadcast that was read, or came before anybody listened.
    last: i64,
}

impl Bulletin for SqliteStore {
    fn promises(&self) -> BulletinPromises {
        PROMISES
    }

    fn broadcast<'a>(&'a self, batch: &'a [Broadcast]) -> BoxFuture<'a, Replies<()>> {
        self.run_batch(batch, Worker::broadcast)
    }

    fn listen(&self, key: &ElectionKey) -> BoxStream<'static, Heard> {
        let pulse = self.presence.pulse();
        pulse.hearing().listen(pulse, key)
    }
}

impl Worker {
    /// Nothing waits for the disk: after a power failure nobody is left to hear it.
    fn broadcast(&mut self, batch: &[Broadcast]) -> Replies<()> {
        if batch.is_empty() {
            return Vec::new();
        }
        let answers = self.on_file(|worker, database| {
            worker.write(database, |desk| {
                let answers =
                    batch.iter().map(|broadcast| desk.broadcast(broadcast)).collect::<Result<Vec<_>, Fault>>()?;
                broadcasts::trim(desk.connection(), desk.now())?;
                Ok(answers.into_iter().map(Ok).collect())
            })
        });
        self.replies(batch, answers).into_iter().map(|reply| reply.and_then(|judged| judged)).collect()
    }

    /// Brings up to date who listens here, and reads what was said. What cannot be done now is tried again before the next
    /// job.
    pub(super) fn attend(&mut self) {
        let hearing = Arc::clone(self.hearing());
        if hearing.take_change() {
            self.write_down_listeners(&hearing);
        }
        if hearing.take_call() && !self.attendance().elections.is_empty() {
            self.read_broadcasts(&hearing);
        }
    }

    fn write_down_listeners(&mut self, hearing: &Hearing) {
        let wanted: BTreeSet<ElectionKey> = hearing.audience().elections().into_iter().collect();
        let changed = if wanted == self.attendance().elections {
            Ok(())
        } else {
            self.on_file(|worker, database| worker.change_listeners(database, &wanted))
        };
        match changed {
            Ok(()) => wanted.iter().for_each(|key| hearing.audience().now_heard(key)),
            Err(error) => {
                hearing.change_later();
                let known = &self.attendance().elections;
                wanted.difference(known).for_each(|key| hearing.audience().deafened(key, &error));
            }
        }
    }

    /// Whoever listens already is told first what was said until now; who is new hears nothing of it.
    fn change_listeners(&mut self, database: &Database, wanted: &BTreeSet<ElectionKey>) -> Result<(), Fault> {
        let own = self.show()?;
        let (known, number) = (&self.attendance().elections, self.attendance().last);
        let now = self.clock().now();
        let (said, last) = database.write(Durability::Crash, |connection| {
            let (said, _) = broadcasts::after(connection, number, known)?;
            known.difference(wanted).try_for_each(|key| broadcasts::unlisten(connection, key, own))?;
            wanted.difference(known).try_for_each(|key| broadcasts::listen(connection, key, own))?;
            broadcasts::trim(connection, now)?;
            Ok((said, broadcasts::last(connection)?))
        })?;
        let hearing = Arc::clone(self.hearing());
        said.into_iter().for_each(|broadcast| hearing.audience().tell(broadcast));
        *self.attendance_mut() = Attendance { elections: wanted.clone(), last };
        Ok(())
    }

    fn read_broadcasts(&mut self, hearing: &Hearing) {
        let read: Result<_, StoreError> = self.on_file(|worker, database| {
            let attendance = worker.attendance();
            database.read(|connection| broadcasts::after(connection, attendance.last, &attendance.elections))
        });
        match read {
            Ok((said, last)) => {
                self.attendance_mut().last = last;
                said.into_iter().for_each(|broadcast| hearing.audience().tell(broadcast));
            }
            Err(error) => {
                log!(debug, %error, "broadcasts cannot be read now");
                hearing.call_later();
            }
        }
    }
}

impl Desk<'_> {
    /// The inner error is the refusal of this broadcast.
    fn broadcast(&mut self, broadcast: &Broadcast) -> Result<Result<(), StoreError>, Fault> {
        if let Err(refusal) = PROMISES.check_payload(&broadcast.payload) {
            return Ok(Err(refusal));
        }
        let listeners = broadcasts::add(self.connection(), broadcast, self.now())?;
        self.call_listeners(&broadcast.key, listeners);
        Ok(Ok(()))
    }
}
