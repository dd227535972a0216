//! The thread that owns the connection. SQLite blocks, and callers must not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tenure_store::StoreError;
use tenure_store::contain::contain;

use super::config::Location;
use super::database::{Absence, Database, Durability};
use super::error::SqliteStoreError;
use super::held_leases::HeldLeases;
use super::lease_clock::LeaseClock;
use super::lost_files::LostFiles;
use super::own_pipes::OwnPipes;
use super::peer_rows;
use super::pubsub::BroadcastLog;
use super::request_queue::DbRequest;
use super::subscriptions::Subscriptions;
use super::transaction::Transaction;
use tenure_store::record::ProcessToken;

/// The state that the thread owns.
pub(super) struct DbThread {
    path: PathBuf,
    clock: LeaseClock,
    own_pipes: Arc<OwnPipes>,
    /// `None` while the file cannot be reopened.
    database: Option<Database>,
    absence: Absence,
    lost_files: LostFiles,
    held_leases: HeldLeases,
    /// The number of streams that want every change.
    watchers: usize,
    is_registered: bool,
    broadcast_log: BroadcastLog,
}

impl DbThread {
    /// Without a database, the first request opens it, once no process leads by another one.
    pub(super) fn new(
        location: &Location,
        database: Option<Database>,
        (absence, lost_files): (Absence, LostFiles),
        clock: LeaseClock,
        own_pipes: Arc<OwnPipes>,
    ) -> Self {
        let (path, held_leases, broadcast_log) =
            (location.path.clone(), HeldLeases::default(), BroadcastLog::default());
        Self {
            path,
            clock,
            own_pipes,
            database,
            absence,
            lost_files,
            held_leases,
            watchers: 0,
            is_registered: false,
            broadcast_log,
        }
    }

    /// Serves requests until all senders are gone.
    pub(super) fn work(mut self, jobs: &Receiver<DbRequest>) {
        while let Ok(job) = jobs.recv() {
            let done = contain(|| {
                self.register();
                self.update_broadcasts();
                job(&mut self);
            });
            // Whoever waits for the job hears that it broke down. The connection it was done on is gone, and is made anew.
            if let Err(panic) = done {
                self.database = None;
                log!(error, path = %self.path.display(), "the thread of the SQLite store panicked: {panic}");
            }
        }
        self.leave();
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn clock(&self) -> &LeaseClock {
        &self.clock
    }

    /// The token of this process. From now on others can tell whether it is alive.
    pub(super) fn show(&self) -> Result<ProcessToken, SqliteStoreError> {
        self.own_pipes.show()
    }

    pub(super) fn held_leases_mut(&mut self) -> &mut HeldLeases {
        &mut self.held_leases
    }

    /// Whether the files were lost and none have been opened since.
    pub(super) fn is_adrift(&self) -> bool {
        self.database.is_none()
    }

    /// Announces how long leases may be held that are requested now.
    pub(super) fn pledge(&self) -> Result<ProcessToken, SqliteStoreError> {
        self.own_pipes.pledge(self.held_leases.longest_ttl())
    }

    pub(super) fn subscriptions(&self) -> &Arc<Subscriptions> {
        self.own_pipes.wake_listener().subscriptions()
    }

    pub(super) fn broadcast_log(&self) -> &BroadcastLog {
        &self.broadcast_log
    }

    pub(super) fn broadcast_log_mut(&mut self) -> &mut BroadcastLog {
        &mut self.broadcast_log
    }

    pub(super) fn watch(&mut self) {
        self.watchers += 1;
        self.register();
    }

    pub(super) fn unwatch(&mut self) {
        self.watchers = self.watchers.saturating_sub(1);
        self.register();
    }

    /// Something with the file, which must be the same before and after. If it is not, whatever was done was done to a
    /// file that nobody looks at any more, and the one that is there now is used from the next time on.
    pub(super) fn on_file<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &Database) -> Result<T, SqliteStoreError>,
    ) -> Result<T, StoreError> {
        let result = self.try_on_file(act);
        result.map_err(|fault| fault.about(&self.path))
    }

    /// Reads one state of the file.
    pub(super) fn read<T>(
        &self,
        database: &Database,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let (registry, own) = (self.own_pipes.registry(), self.own_pipes.token().unwrap_or_default());
        database.read(|connection| act(&Transaction::new(connection, &registry, own, &self.clock)))
    }

    /// Changes the file.
    pub(super) fn write<T>(
        &self,
        database: &Database,
        act: impl FnOnce(&mut Transaction<'_>) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let own = self.own_pipes.token().unwrap_or_default();
        self.transact(database, own, Durability::Crash, act)
    }

    /// Changes the file in a way that a power failure does not undo.
    pub(super) fn write_durably<T>(
        &self,
        database: &Database,
        act: impl FnOnce(&mut Transaction<'_>) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let own = self.own_pipes.token().unwrap_or_default();
        self.transact(database, own, Durability::PowerLoss, act)
    }

    /// Changes the file for a candidate, whose death must be seen.
    pub(super) fn write_as_candidate<T>(
        &self,
        database: &Database,
        durability: Durability,
        act: impl FnOnce(&mut Transaction<'_>) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let own = match durability {
            Durability::Crash => self.own_pipes.show()?,
            // A lease may be granted: its holder has to be known, and to know when the file is lost.
            Durability::PowerLoss => {
                self.own_pipes.wake_listener().watch(database.location(), database.identity());
                self.pledge()?
            }
        };
        self.transact(database, own, durability, act)
    }

    fn transact<T>(
        &self,
        database: &Database,
        own: ProcessToken,
        durability: Durability,
        act: impl FnOnce(&mut Transaction<'_>) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let registry = self.own_pipes.registry();
        let (result, post_commit) = database.write(durability, |connection| {
            let mut transaction = Transaction::new(connection, &registry, own, &self.clock);
            let result = act(&mut transaction)?;
            Ok((result, transaction.close()?))
        })?;
        let gone = post_commit.settle(&registry, own, self.own_pipes.wake_listener(), self.clock.now());
        if !gone.is_empty() {
            // It is done already; that the dead are still in the list costs only time.
            let _ = peer_rows::forget(database, &gone);
        }
        Ok(result)
    }

    fn try_on_file<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &Database) -> Result<T, SqliteStoreError>,
    ) -> Result<T, SqliteStoreError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => self.open()?,
        };
        if let Err(fault) = database.check_identity() {
            self.lose(database, &fault);
            return Err(fault);
        }
        let result = act(self, &database);
        if let Err(fault) = database.check_identity() {
            self.lose(database, &fault);
            return Err(fault);
        }
        self.database = Some(database);
        result
    }

    /// Drops files that have changed. Those that may not be used now may be usable again later.
    fn lose(&mut self, database: Database, fault: &SqliteStoreError) {
        if !matches!(fault, SqliteStoreError::Replaced) {
            self.database = Some(database);
            return;
        }
        log!(warn, path = %self.path.display(), %fault, "leaders that rely on this file must stop");
        if let Some(term) = self.held_leases.highest_term() {
            database.registry().raise_floor(term);
        }
        database.abandon();
        match self.open() {
            Ok(database) => self.database = Some(database),
            // Nothing may delay the news; it is opened with the first job after those who led have stopped.
            Err(SqliteStoreError::Replaced) => {}
            Err(fault) => log!(warn, path = %self.path.display(), %fault, "cannot open the database again"),
        }
    }

    /// Leftovers that cannot be removed now are removed by the next process that opens the file.
    fn leave(&mut self) {
        let Some(database) = self.database.take() else { return };
        if database.check_identity().is_err() {
            return database.abandon();
        }
        if let Some(own) = self.own_pipes.token() {
            let _ = peer_rows::forget(&database, &[own]);
        }
        // Before the last one to close the file removes its log: those who come next find another one.
        self.own_pipes.leave();
    }

    fn open(&mut self) -> Result<Database, SqliteStoreError> {
        if !self.held_leases.is_clear(self.clock.now()) {
            // Whoever leads by the former files has to know before anything else is done.
            return Err(SqliteStoreError::Replaced);
        }
        // Nobody here relies on them any more, so nobody elsewhere has to wait for that.
        self.own_pipes.leave();
        let database = Database::open(&self.path, &self.clock, &mut self.lost_files, self.absence)?;
        self.own_pipes.move_to(database.registry());
        self.is_registered = false;
        self.broadcast_log = BroadcastLog::default();
        self.subscriptions().subscribers().interrupted();
        self.subscriptions().change_later();
        peer_rows::sweep(&database, &self.own_pipes.registry(), self.clock.now());
        Ok(database)
    }

    /// Updates the list of watchers. If that fails now, it is tried again with the next request.
    fn register(&mut self) {
        let is_wanted = self.watchers > 0;
        if is_wanted == self.is_registered {
            return;
        }
        let changed = self.on_file(|db_thread, database| {
            let own = db_thread.own_pipes.show()?;
            if is_wanted { peer_rows::watch(database, own) } else { peer_rows::unwatch(database, own) }
        });
        if changed.is_ok() {
            self.is_registered = is_wanted;
        }
    }
}
