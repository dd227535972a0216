//! The jobs of one candidacy, between the driver that lets them begin and the application that runs them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::cron::{Finish, JOBS_MAX, Outcome, Tick};
use tenure_core::{Instant, JobName};
use tokio::sync::Notify;

use super::job::Job;
use super::run::{Begin, JobRun, Limit};
use crate::callback::Registered;
use crate::error::Error;
use crate::leadership::Work;

/// All jobs of a candidacy, and the runs of them that have ended.
pub(crate) struct Roster {
    pub(super) jobs: Vec<(Job, Registered<JobRun>)>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    last_run: AtomicU64,
    ended: Mutex<Vec<Ended>>,
    /// Wakes the scheduler.
    pub(super) ended_some: Notify,
}

/// Identifies a run within a candidacy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunId(pub(super) u64);

/// A run that has ended, or an attempt of it.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) run: RunId,
    /// What the store is to be told.
    pub(super) finish: Finish,
    /// Keeps the lease from being released until it is.
    pub(super) work: Option<Work>,
}

impl Roster {
    /// # Errors
    /// When two jobs have the same name, or there are too many.
    pub(crate) fn new(jobs: Vec<(Job, Registered<JobRun>)>) -> Result<Self, Error> {
        let mut names: BTreeSet<&JobName> = BTreeSet::new();
        if let Some((twin, _)) = jobs.iter().find(|(job, _)| !names.insert(job.name())) {
            return Err(Error::SameJob { job: twin.name().clone() });
        }
        if jobs.len() > JOBS_MAX {
            return Err(Error::TooManyJobs { count: jobs.len() });
        }
        let runtime = tokio::runtime::Handle::try_current().ok();
        Ok(Self { jobs, runtime, last_run: AtomicU64::new(0), ended: Mutex::default(), ended_some: Notify::new() })
    }

    /// Runs a job on a thread of its own. `finish` says who it is; its outcome follows.
    pub(super) fn begin(self: &Arc<Self>, index: usize, id: RunId, run: JobRun, mut finish: Finish, work: Work) {
        let Some((_, handler)) = self.jobs.get(index) else { return };
        let (roster, handler, unbegun) = (Arc::clone(self), handler.clone(), finish.clone());
        let perform = move || {
            let clock = run.leadership().shared().clock.clone();
            let began = clock.now();
            finish.outcome = run.perform(&handler, roster.runtime.as_ref());
            finish.took += clock.now().saturating_since(began);
            // What the handler was given ends before the run does.
            drop(run);
            roster.tell(Ended { run: id, finish, work: Some(work) });
        };
        if let Err(error) = std::thread::Builder::new().name("tenure-job".to_owned()).spawn(perform) {
            let outcome = Outcome::Failed { why: format!("could not be run: {error}") };
            self.tell(Ended { run: id, finish: Finish { outcome, ..unbegun }, work: None });
        }
    }

    /// An id that no run has had, under whichever scheduler.
    pub(super) fn next_run(&self) -> RunId {
        RunId(self.last_run.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// What its jobs are called.
    pub(crate) fn names(&self) -> impl Iterator<Item = JobName> {
        self.jobs.iter().map(|(job, _)| job.name().clone())
    }

    /// One of the jobs.
    pub(super) fn job(&self, index: usize) -> Option<&Job> {
        self.jobs.get(index).map(|(job, _)| job)
    }

    /// The runs that have ended since this was asked last.
    pub(super) fn take_ended(&self) -> Vec<Ended> {
        std::mem::take(&mut *self.ended())
    }

    fn tell(&self, ended: Ended) {
        self.ended().push(ended);
        self.ended_some.notify_one();
    }

    fn ended(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.jobs.iter().map(|(job, _)| job.name())).finish()
    }
}

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) index: usize,
    pub(super) tick: Tick,
    pub(super) limit: Limit,
    pub(super) stage: Stage,
    /// When the stage ends.
    pub(super) deadline: Option<Instant>,
    /// What the run is told of itself.
    pub(super) begin: Begin,
    /// What is known of a run that has failed and waits to be tried again.
    pub(super) rest: Option<Ended>,
}

/// How much time a run still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Enough.
    Allowed,
    /// It was told to stop.
    Told,
    /// If it is a future, it is being dropped.
    Overdue,
    /// It has failed, and is tried again when the stage ends.
    Resting,
}
