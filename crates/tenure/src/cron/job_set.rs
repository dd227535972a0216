//! The jobs of one candidacy, shared by the driver that starts them and the application that runs them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::JobName;
use tenure_core::jobs::{EndedAttempt, MAX_JOBS, RunId, RunOutcome};
use tokio::sync::Notify;

use super::job::Job;
use super::run::JobRun;
use crate::callback::{Callback, CallbackResult};
use crate::error::Error;
use crate::leadership::Work;

/// Jobs and their handlers, to [replace](crate::Candidacy::set_jobs) those of a candidacy.
#[derive(Clone, Default)]
#[must_use = "jobs are given to Candidacy::set_jobs"]
pub struct Jobs(pub(crate) Vec<(Job, Callback<JobRun>)>);

impl Jobs {
    /// Creates an empty set of jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a job, as [`CandidacyBuilder::job`](crate::CandidacyBuilder::job) does.
    pub fn job<R: CallbackResult>(mut self, job: Job, handler: impl Fn(JobRun) -> R + Send + Sync + 'static) -> Self {
        self.0.push((job, Callback::sync(handler)));
        self
    }

    /// Adds an async job, as [`CandidacyBuilder::job_async`](crate::CandidacyBuilder::job_async) does.
    pub fn job_async<F>(mut self, job: Job, handler: impl Fn(JobRun) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.0.push((job, Callback::future(handler)));
        self
    }

    /// # Errors
    /// When two jobs have the same name, there are too many, or a job has no time to run.
    fn check(self) -> Result<Self, Error> {
        let mut names: BTreeSet<&JobName> = BTreeSet::new();
        if let Some((twin, _)) = self.0.iter().find(|(job, _)| !names.insert(job.name())) {
            return Err(Error::SameJob { job: twin.name().clone() });
        }
        if self.0.len() > MAX_JOBS {
            return Err(Error::TooManyJobs { count: self.0.len() });
        }
        if let Some((job, _)) = self.0.iter().find(|(job, _)| job.timeout_after() == Some(Duration::ZERO)) {
            return Err(Error::Zero { what: format!("the timeout of the job {}", job.name()) });
        }
        Ok(self)
    }
}

/// The current jobs, and the runs that have ended.
pub(crate) struct JobSet {
    jobs: Mutex<JobSetVersion>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    last_scheduler: AtomicU64,
    ended: Mutex<Vec<EndedRun>>,
    /// Wakes the scheduler.
    pub(super) ended_some: Notify,
}

/// The jobs as they are now. They are kept: a scheduler that begins anew after a breakdown has seen none of them.
struct JobSetVersion {
    jobs: Jobs,
    /// How often they were replaced, from one on.
    number: u64,
}

/// An attempt of a run that has ended, and whose it is.
#[derive(Debug)]
pub(super) struct EndedRun {
    pub(super) scheduler: u64,
    pub(super) attempt: EndedAttempt,
}

impl JobSet {
    /// # Errors
    /// When two jobs have the same name, or there are too many.
    pub(crate) fn new(jobs: Jobs) -> Result<Self, Error> {
        let jobs = Mutex::new(JobSetVersion { jobs: jobs.check()?, number: 1 });
        let runtime = tokio::runtime::Handle::try_current().ok();
        Ok(Self {
            jobs,
            runtime,
            last_scheduler: AtomicU64::new(0),
            ended: Mutex::default(),
            ended_some: Notify::new(),
        })
    }

    /// These jobs from now on.
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is changed then.
    pub(crate) fn replace(&self, jobs: Jobs) -> Result<(), Error> {
        let jobs = jobs.check()?;
        let mut edition = self.edition();
        let number = edition.number + 1;
        *edition = JobSetVersion { jobs, number };
        drop(edition);
        self.ended_some.notify_one();
        Ok(())
    }

    /// The jobs as they are now, with their number, if they are others than those of `seen`.
    pub(super) fn newer_than(&self, seen: u64) -> Option<(Jobs, u64)> {
        let edition = self.edition();
        (edition.number != seen).then(|| (edition.jobs.clone(), edition.number))
    }

    /// What its jobs are called.
    pub(crate) fn names(&self) -> Vec<JobName> {
        self.edition().jobs.0.iter().map(|(job, _)| job.name().clone()).collect()
    }

    fn edition(&self) -> MutexGuard<'_, JobSetVersion> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job on a thread of its own, for the scheduler of this number. The lease is kept until it has ended.
    pub(super) fn begin(
        self: &Arc<Self>,
        handler: Callback<JobRun>,
        scheduler: u64,
        run: RunId,
        job_run: JobRun,
        work: Arc<Work>,
    ) {
        let job_set = Arc::clone(self);
        let perform = move || {
            let clock = job_run.leadership().shared().clock.clone();
            let began = clock.now();
            let outcome = job_run.perform(&handler, job_set.runtime.as_ref());
            let took = clock.now().saturating_since(began);
            // What the handler was given ends before the run does.
            drop(job_run);
            job_set.tell(EndedRun { scheduler, attempt: EndedAttempt { run, took, outcome, may_retry: true } });
            drop(work);
        };
        if let Err(error) = std::thread::Builder::new().name("tenure-job".to_owned()).spawn(perform) {
            let outcome = RunOutcome::Failed { why: format!("could not be run: {error}") };
            let attempt = EndedAttempt { run, took: Duration::ZERO, outcome, may_retry: false };
            self.tell(EndedRun { scheduler, attempt });
        }
    }

    /// A number that no scheduler has had.
    pub(super) fn next_scheduler(&self) -> u64 {
        self.last_scheduler.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The runs that have ended since this was asked last.
    pub(super) fn take_ended(&self) -> Vec<EndedRun> {
        std::mem::take(&mut *self.ended())
    }

    pub(super) fn tell(&self, ended: EndedRun) {
        self.ended().push(ended);
        self.ended_some.notify_one();
    }

    fn ended(&self) -> MutexGuard<'_, Vec<EndedRun>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(job, _)| job.name())).finish()
    }
}

impl fmt::Debug for JobSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSet").finish_non_exhaustive()
    }
}
