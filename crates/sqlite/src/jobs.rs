//! The ledger of jobs and their ticks, on the database thread. The rules are those of the core, applied to the
//! rows of the job that is asked about.

use std::collections::BTreeSet;

use tenure_store::ledger::Ledger;
use tenure_store::ledger::{Claim, Claimed, Finish, JobLedger, JobOrder, JobReport, OpenJobs, Opened, RunOutcome};
use tenure_store::{ElectionKey, JobName, Replies, StoreError, async_trait};

use super::SqliteStore;
use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::job_rows::{self, JobRow};
use super::transaction::{ElectionResult, Transaction};

#[async_trait]
impl JobLedger for SqliteStore {
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        let request = request.clone();
        self.requests.run(move |db_thread| db_thread.open_jobs(&request)).await?
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        self.run_batch(batch, DbThread::claim).await
    }

    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        self.run_batch(batch, DbThread::finish).await
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        let key = key.clone();
        self.requests.run(move |db_thread| db_thread.report_jobs(&key, max_runs)).await?
    }

    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        let (key, job) = (key.clone(), job.clone());
        self.requests.run(move |db_thread| db_thread.steer_job(&key, &job, order)).await?
    }

    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        let (key, job) = (key.clone(), job.clone());
        self.requests.run(move |db_thread| db_thread.forget_job(&key, &job)).await?
    }
}

impl DbThread {
    /// A mark that a power failure took back would let a tick fire twice, so it waits for the disk. So does a claim.
    fn open_jobs(&mut self, request: &OpenJobs) -> Result<Opened, StoreError> {
        self.on_file(|db_thread, database| {
            db_thread.write_durably(database, |transaction| transaction.open_jobs(request))
        })
    }

    fn claim(&mut self, batch: &[Claim]) -> Replies<Claimed> {
        if batch.is_empty() {
            return Vec::new();
        }
        let answers = self.on_file(|db_thread, database| {
            db_thread
                .write_durably(database, |transaction| batch.iter().map(|claim| transaction.claim(claim)).collect())
        });
        self.replies(batch, answers)
    }

    /// Only ticks that are given back wait for the disk: whoever tells it tells it once. Of other runs that a power failure
    /// took back it is enough that they show as interrupted.
    fn finish(&mut self, batch: &[Finish]) -> Replies<bool> {
        let gives_back = batch.iter().any(|finish| finish.outcome == RunOutcome::NotBegun);
        let answers = self.on_file(|db_thread, database| {
            let finish_all =
                |transaction: &mut Transaction<'_>| batch.iter().map(|finish| transaction.finish(finish)).collect();
            if gives_back {
                db_thread.write_durably(database, finish_all)
            } else {
                db_thread.write(database, finish_all)
            }
        });
        self.replies(batch, answers)
    }

    fn report_jobs(&mut self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        self.on_file(|_, database| {
            database.read(|connection| {
                let closer = |known: JobRow| known.with_latest_runs(connection, max_runs);
                let jobs: Result<Vec<JobRow>, SqliteStoreError> =
                    job_rows::all(connection, key).and_then(|jobs| jobs.into_iter().map(closer).collect());
                Ok(ledger_of(jobs.map_err(of_jobs(key))?.iter()).report(max_runs))
            })
        })
    }

    fn steer_job(&mut self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        self.on_file(|db_thread, database| {
            db_thread.write_durably(database, |transaction| {
                let known = job_rows::find(transaction.connection(), key, job)?;
                transaction.change(known, |ledger| ledger.steer(job, order, transaction.unix_ms()))
            })
        })
    }

    fn forget_job(&mut self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        self.on_file(|db_thread, database| {
            db_thread.write_durably(database, |transaction| {
                let known = job_rows::find(transaction.connection(), key, job)?;
                known.map_or(Ok(false), |known| known.delete(transaction.connection()).map(|()| true))
            })
        })
    }
}

impl Transaction<'_> {
    fn open_jobs(&self, request: &OpenJobs) -> Result<Opened, SqliteStoreError> {
        let OpenJobs { key, nonce, term, jobs } = request;
        if !self.is_held_by(key, *nonce, *term)? {
            return Ok(Opened::NotHolder);
        }
        let named: BTreeSet<&JobName> = jobs.iter().map(|open| &open.job).collect();
        let connection = self.connection();
        let look_closer = |known: JobRow| {
            if named.contains(&known.job) { known.with_undone_runs(connection) } else { Ok(known) }
        };
        let before: Vec<JobRow> = job_rows::all(connection, key)
            .and_then(|jobs| jobs.into_iter().map(look_closer).collect())
            .map_err(of_jobs(key))?;
        let mut ledger = ledger_of(before.iter());
        let opened = ledger.open(jobs, *term, self.unix_ms());
        for known in &before {
            if let Some(after) = ledger.jobs.remove(&known.job) {
                known.save(connection, &after)?;
            }
        }
        // What is left was not known before.
        for (job, record) in &ledger.jobs {
            job_rows::create(connection, key, job, record)?;
        }
        Ok(opened)
    }

    fn claim(&self, claim: &Claim) -> ElectionResult<Claimed> {
        of_one_election(&claim.key, || {
            if !self.is_held_by(&claim.key, claim.nonce, claim.term)? {
                return Ok(Claimed::NotHolder);
            }
            let known = job_rows::find(self.connection(), &claim.key, &claim.job)?;
            let known = known.map(|known| known.with_run(self.connection(), claim.tick)).transpose()?;
            self.change(known, |ledger| ledger.claim(claim, self.unix_ms()))
        })
    }

    fn finish(&self, finish: &Finish) -> ElectionResult<bool> {
        of_one_election(&finish.key, || {
            let known = job_rows::find(self.connection(), &finish.key, &finish.job)?;
            let known = known.map(|known| known.with_run(self.connection(), finish.tick)).transpose()?;
            self.change(known, |ledger| ledger.finish(finish, self.unix_ms()))
        })
    }

    /// One step on one job.
    fn change<T>(&self, known: Option<JobRow>, act: impl FnOnce(&mut Ledger) -> T) -> Result<T, SqliteStoreError> {
        let mut ledger = ledger_of(known.iter());
        let reply = act(&mut ledger);
        if let Some(known) = known
            && let Some(after) = ledger.jobs.get(&known.job)
        {
            known.save(self.connection(), after)?;
        }
        Ok(reply)
    }
}

fn ledger_of<'a>(jobs: impl Iterator<Item = &'a JobRow>) -> Ledger {
    Ledger { jobs: jobs.map(|known| (known.job.clone(), known.record.clone())).collect() }
}

/// A row that makes no sense is an error of one election. It is read before any write.
fn of_one_election<T>(key: &ElectionKey, act: impl FnOnce() -> Result<T, SqliteStoreError>) -> ElectionResult<T> {
    match act().map_err(of_jobs(key)) {
        Err(fault) if !fault.is_of_one_election() => Err(fault),
        answer => Ok(answer),
    }
}

/// Names the election whose job rows make no sense.
fn of_jobs(key: &ElectionKey) -> impl Fn(SqliteStoreError) -> SqliteStoreError {
    |fault| fault.in_record_of(key, "the table job or run")
}
