//! Jobs by the calendar, on the candidate's side.

use std::future::Future;
use std::sync::{Arc, PoisonError};

use super::{Candidacy, CandidacyBuilder};
use crate::callback::{Callback, CallbackResult};
use crate::client::Client;
use crate::cron::{Job, JobCompanion, JobRun, JobSet, Jobs};
use crate::error::Error;

impl<C> CandidacyBuilder<C> {
    /// Runs a job by the calendar while this candidate leads. Each tick fires at most once across all candidates.
    ///
    /// All candidates of an election should have the same jobs: the leader runs those it knows. The handler runs on a
    /// thread of its own. An error or a panic in it ends the run: it is recorded and
    /// [reported](crate::EventKind::Error), and changes nothing else. When the leadership ends, or the run exceeds its
    /// timeout, the handler is told through [`JobRun::cancelled`]; a resignation
    /// [waits for it](Candidacy#how-long-stopping-takes).
    ///
    /// ```
    /// use tenure::blocking::Client;
    /// use tenure::cron::Job;
    /// # let (sender, receiver) = std::sync::mpsc::channel();
    ///
    /// let client = Client::open("memory:")?;
    /// let candidacy = client
    ///     .election("housekeeping")?
    ///     .candidate()
    ///     .job(Job::new("sweep", "*/2 * * * * *")?, move |run| {
    ///         println!("{} is due, under term {}", run.job(), run.term());
    /// #       sender.send(()).ok();
    ///     })
    ///     .start()?;
    /// # receiver.recv().ok();
    /// # candidacy.stop();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn job<R: CallbackResult>(mut self, job: Job, handler: impl Fn(JobRun) -> R + Send + Sync + 'static) -> Self {
        self.plan.jobs.push((job, Callback::sync(handler)));
        self
    }

    /// Runs an async [job](Self::job); its future runs on the runtime `start` was called on, if any.
    ///
    /// The future is dropped when it was told to stop and the grace is over.
    pub fn job_async<F>(mut self, job: Job, handler: impl Fn(JobRun) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.plan.jobs.push((job, Callback::future(handler)));
        self
    }
}

impl Candidacy {
    /// These are the jobs it was started with.
    pub(super) fn has_jobs(&self, job_set: Option<Arc<JobSet>>) {
        *self.job_set.lock().unwrap_or_else(PoisonError::into_inner) = job_set;
    }

    /// Replaces the jobs of this candidacy without leaving the election.
    ///
    /// New jobs begin at the present, changed ones continue where they were (at the present if their schedule has changed),
    /// and removed ones no longer fire. Current runs are not affected. Do the same for all candidates of the election.
    ///
    /// # Errors
    /// When two jobs have the same name, there are too many jobs, a timeout is zero, or the store has no ledger. Then nothing is
    /// changed.
    pub fn set_jobs(&self, jobs: Jobs) -> Result<(), Error> {
        let mut known = self.job_set.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job_set) = &*known {
            return job_set.replace(jobs);
        }
        *known = job_set(&self.client, jobs)?;
        if let Some(job_set) = &*known {
            self.shared.attach(JobCompanion::new(job_set));
        }
        Ok(())
    }
}

/// Jobs run on the runtime that is there when the candidacy begins.
pub(super) fn job_set(client: &Client, jobs: Jobs) -> Result<Option<Arc<JobSet>>, Error> {
    if jobs.0.is_empty() {
        return Ok(None);
    }
    client.check_ledger()?;
    Ok(Some(Arc::new(JobSet::new(jobs)?)))
}
