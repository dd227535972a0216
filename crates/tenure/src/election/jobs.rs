//! Jobs by the calendar, from the candidacy's side.

use std::future::Future;
use std::sync::Arc;

use super::ElectionBuilder;
use crate::callback::{CallbackResult, Registered};
use crate::cron::{Job, JobRun, Roster};
use crate::error::Error;
use crate::tenure::Tenure;

impl ElectionBuilder {
    /// Runs a job by the calendar while this candidate leads. Each tick fires at most once, whoever leads.
    ///
    /// All candidates of an election should have the same jobs: whoever leads runs those it knows. The handler runs on a
    /// thread of its own. An error or a panic in it is how the run has ended: it is written down and
    /// [reported](crate::EventKind::Error), and changes nothing else. When the leadership ends, or the run has taken too
    /// long, the handler is told through [`JobRun::cancelled`]; a resignation waits for it, for at most the grace.
    ///
    /// ```
    /// use tenure::Tenure;
    /// use tenure::cron::Job;
    /// # let (sender, receiver) = std::sync::mpsc::channel();
    ///
    /// let tenure = Tenure::open("memory:")?;
    /// let election = tenure
    ///     .election("housekeeping")?
    ///     .job(Job::new("sweep", "*/2 * * * * *")?, move |run| {
    ///         println!("{} is due, under term {}", run.job(), run.term());
    /// #       sender.send(()).ok();
    ///     })
    ///     .start()?;
    /// # receiver.recv().ok();
    /// # election.stop_blocking();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn job<R: CallbackResult>(mut self, job: Job, handler: impl Fn(JobRun) -> R + Send + Sync + 'static) -> Self {
        self.jobs.push((job, Registered::sync(handler)));
        self
    }

    /// [`job`](Self::job) with a future, which runs on the runtime `start` was called on, if there is one. It is dropped when
    /// it was told to stop and the grace is over.
    pub fn job_async<F>(mut self, job: Job, handler: impl Fn(JobRun) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.jobs.push((job, Registered::future(handler)));
        self
    }
}

/// Jobs run on the runtime that is there when the candidacy begins.
pub(super) fn roster(tenure: &Tenure, jobs: Vec<(Job, Registered<JobRun>)>) -> Result<Option<Arc<Roster>>, Error> {
    if jobs.is_empty() {
        return Ok(None);
    }
    tenure.check_ledger()?;
    Ok(Some(Arc::new(Roster::new(jobs)?)))
}
