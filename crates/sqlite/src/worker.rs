//! The thread that owns the connection. SQLite blocks, and those who ask must not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tenure_store::StoreError;
use tenure_store::contain::contain;

use super::bulletin::Attendance;
use super::config::Location;
use super::database::{Absence, Database, Durability};
use super::desk::Desk;
use super::error::Fault;
use super::hearing::Hearing;
use super::jobs::Job;
use super::lease_clock::LeaseClock;
use super::membership;
use super::presence::Presence;
use super::stake::Stake;
use super::vigil::Vigil;
use tenure_core::record::ProcessToken;

/// What the thread owns.
pub(super) struct Worker {
    path: PathBuf,
    clock: LeaseClock,
    presence: Arc<Presence>,
    /// Empty while the file cannot be opened again.
    database: Option<Database>,
    absence: Absence,
    vigil: Vigil,
    stake: Stake,
    /// Streams that want to hear of everything.
    watchers: usize,
    is_registered: bool,
    attendance: Attendance,
}

impl Worker {
    /// Without a database it is opened with the first job, once nobody leads by another one any more.
    pub(super) fn new(
        location: &Location,
        database: Option<Database>,
        (absence, vigil): (Absence, Vigil),
        clock: LeaseClock,
        presence: Arc<Presence>,
    ) -> Self {
        let (path, stake, attendance) = (location.path.clone(), Stake::default(), Attendance::default());
        Self { path, clock, presence, database, absence, vigil, stake, watchers: 0, is_registered: false, attendance }
    }

    /// Does jobs until nobody can send any more.
    pub(super) fn work(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let done = contain(|| {
                self.register();
                self.attend();
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

    /// Who this is. From here on others can tell whether it lives.
    pub(super) fn show(&self) -> Result<ProcessToken, Fault> {
        self.presence.show()
    }

    pub(super) fn stake_mut(&mut self) -> &mut Stake {
        &mut self.stake
    }

    /// Whether the files were lost and none have been opened since.
    pub(super) fn is_adrift(&self) -> bool {
        self.database.is_none()
    }

    /// Shows for how long leases may be held by whoever asks for one now.
    pub(super) fn pledge(&self) -> Result<ProcessToken, Fault> {
        self.presence.pledge(self.stake.longest_ttl())
    }

    pub(super) fn hearing(&self) -> &Arc<Hearing> {
        self.presence.pulse().hearing()
    }

    pub(super) fn attendance(&self) -> &Attendance {
        &self.attendance
    }

    pub(super) fn attendance_mut(&mut self) -> &mut Attendance {
        &mut self.attendance
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
        act: impl FnOnce(&mut Self, &Database) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let result = self.try_on_file(act);
        result.map_err(|fault| fault.about(&self.path))
    }

    /// A read of one state of the file.
    pub(super) fn read<T>(
        &self,
        database: &Database,
        act: impl FnOnce(&Desk<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let (registry, own) = (self.presence.registry(), self.presence.token().unwrap_or_default());
        database.read(|connection| act(&Desk::new(connection, &registry, own, &self.clock)))
    }

    /// A change of the file.
    pub(super) fn write<T>(
        &self,
        database: &Database,
        act: impl FnOnce(&mut Desk<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let own = self.presence.token().unwrap_or_default();
        self.transact(database, own, Durability::Crash, act)
    }

    /// A change of the file that a power failure does not undo.
    pub(super) fn write_durably<T>(
        &self,
        database: &Database,
        act: impl FnOnce(&mut Desk<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let own = self.presence.token().unwrap_or_default();
        self.transact(database, own, Durability::PowerLoss, act)
    }

    /// A change of the file by somebody whose death must be seen.
    pub(super) fn write_as_candidate<T>(
        &self,
        database: &Database,
        durability: Durability,
        act: impl FnOnce(&mut Desk<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let own = match durability {
            Durability::Crash => self.presence.show()?,
            // A lease may be granted: its holder has to be known, and to know when the file is lost.
            Durability::PowerLoss => {
                self.presence.pulse().watch(database.location(), database.identity());
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
        act: impl FnOnce(&mut Desk<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let registry = self.presence.registry();
        let (result, aftermath) = database.write(durability, |connection| {
            let mut desk = Desk::new(connection, &registry, own, &self.clock);
            let result = act(&mut desk)?;
            Ok((result, desk.close()?))
        })?;
        let gone = aftermath.settle(&registry, own, self.presence.pulse(), self.clock.now());
        if !gone.is_empty() {
            // It is done already; that the dead are still in the list costs only time.
            let _ = membership::forget(database, &gone);
        }
        Ok(result)
    }

    fn try_on_file<T>(&mut self, act: impl FnOnce(&mut Self, &Database) -> Result<T, Fault>) -> Result<T, Fault> {
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

    /// The files are not what they were. Those that may not be used now may be again.
    fn lose(&mut self, database: Database, fault: &Fault) {
        if !matches!(fault, Fault::Replaced) {
            self.database = Some(database);
            return;
        }
        log!(warn, path = %self.path.display(), %fault, "whoever leads by it has to stop");
        if let Some(term) = self.stake.highest_term() {
            database.registry().raise_floor(term);
        }
        database.abandon();
        match self.open() {
            Ok(database) => self.database = Some(database),
            // Nothing may delay the news; it is opened with the first job after those who led have stopped.
            Err(Fault::Replaced) => {}
            Err(fault) => log!(warn, path = %self.path.display(), %fault, "cannot open the database again"),
        }
    }

    /// What cannot be removed now is removed by whoever opens the file next.
    fn leave(&mut self) {
        let Some(database) = self.database.take() else { return };
        if database.check_identity().is_err() {
            return database.abandon();
        }
        if let Some(own) = self.presence.token() {
            let _ = membership::forget(&database, &[own]);
        }
        // Before the last one to close the file removes its log: those who come next find another one.
        self.presence.leave();
    }

    fn open(&mut self) -> Result<Database, Fault> {
        if !self.stake.is_clear(self.clock.now()) {
            // Whoever leads by the former files has to know before anything else is done.
            return Err(Fault::Replaced);
        }
        // Nobody here relies on them any more, so nobody elsewhere has to wait for that.
        self.presence.leave();
        let database = Database::open(&self.path, &self.clock, &mut self.vigil, self.absence)?;
        self.presence.move_to(database.registry());
        self.is_registered = false;
        self.attendance = Attendance::default();
        self.hearing().audience().interrupted();
        self.hearing().change_later();
        membership::sweep(&database, &self.presence.registry(), self.clock.now());
        Ok(database)
    }

    /// Brings the list of watchers up to date. When it cannot be done now, it is tried again with the next job.
    fn register(&mut self) {
        let is_wanted = self.watchers > 0;
        if is_wanted == self.is_registered {
            return;
        }
        let changed = self.on_file(|worker, database| {
            let own = worker.presence.show()?;
            if is_wanted { membership::watch(database, own) } else { membership::unwatch(database, own) }
        });
        if changed.is_ok() {
            self.is_registered = is_wanted;
        }
    }
}
