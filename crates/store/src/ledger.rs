//! The ledger contract: a store's record of jobs and their ticks, and the promises that come with it.

use tenure_core::JobName;
pub use tenure_core::jobs::{
    Act, Claim, Claimed, Finish, JobOrder, JobReport, MAX_EARLY, MAX_JOBS, OpenJob, OpenJobs, Opened, OpenedJob,
    RunEnd, RunOutcome, RunReport, Tick,
};
pub use tenure_core::store_rules::ledger::{JobRecord, Ledger, MAX_RUNS, RunRecord};

use super::{ElectionKey, Replies, StoreError, async_trait};

/// The record of an election's jobs. Offered by a store through [`Store::ledger`](super::Store::ledger).
///
/// # Contract
/// - Each job of an election has a **mark**: all ticks up to it are decided. A mark never falls, whoever leads and whatever
///   clocks say. It is kept as durably as a term.
/// - **`open`** and **`claim`** are conditional on nonce *and* term, as a renewal is. Whether the sender holds the lease is
///   decided in the same atomic step.
/// - **A tick is granted once**: a claim beyond the mark moves the mark to its tick and, if it is to be run, writes down a
///   run. A claim at or below the mark is refused, except that of the very nonce and term that has claimed the run already
///   and not told its end, and that of [`Act::RunAgain`] by a later term than the one that claimed the run, as long as its
///   end was not told or it was given back.
/// - A tick that is **ahead of the store's wall clock** by more than [`MAX_EARLY`] is refused as [`Claimed::Early`].
/// - **`finish`** is conditional on nonce and term of the *run*: its claimer may report its end, even when it no
///   longer leads. Of two reports, the first counts.
/// - A tick that is **given back**, by reporting [`RunOutcome::NotBegun`], counts as missed and no longer as fired, until a later
///   term runs it. Later terms find it among the [unbegun](OpenedJob::unbegun) ticks; the term that gave it back does not:
///   its report may be under way once more, and must not end another run.
/// - A **new** job has its mark at the present, and one that is opened with another **schedule** than before has it moved
///   there, if that is later. The present is the leader's or the store's, whichever is earlier: a leader whose clock is fast
///   decides nothing that is still to come.
/// - A job that is **paused** stays so, whoever leads, until it is resumed. Claims of its ticks are answered by
///   [`Claimed::Paused`], and decide nothing; only a run that was claimed before is granted again to its claimer.
/// - A **run that was asked for** is remembered with the second of the request, until a run is claimed for a tick at or after
///   that. Of two requests in the meantime, the first counts.
/// - The latest [`MAX_RUNS`] runs of each job are kept, and at most [`MAX_JOBS`] jobs per election.
/// - **Repeating** any call whose reply was lost changes nothing more.
/// - A ledger touches nothing else: no lease, no term, no history, no list of elections, and nobody is woken.
/// - Futures may be dropped at any time; the write may or may not have happened then.
///
/// The rules are written out in [`Ledger`], for stores that decide in their own process.
#[async_trait]
pub trait JobLedger: Send + Sync {
    /// Registers jobs and returns the state of each. One atomic step.
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError>;

    /// Decides ticks. One atomic step each, in the order of the batch.
    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed>;

    /// Records the outcomes of runs. One atomic step each. Returns whether the outcome was recorded: it is not if
    /// another leader reports it, or if the run is no longer known.
    async fn finish(&self, batch: &[Finish]) -> Replies<bool>;

    /// Lists all jobs in order of their names, each with at most `max_runs` runs. For administration: needs no lease.
    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError>;

    /// Carries out an order about a job. Returns whether the job is known. For administration: needs no lease.
    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError>;

    /// Forgets a job, its mark and its runs. Returns whether the job was known. For administration: if the
    /// configuration of the current leader still has the job, it starts over.
    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError>;
}
