//! The ledger contract: where jobs and their ticks are written down, and what a store that has one must promise.

use futures_util::future::BoxFuture;
use tenure_core::JobName;
pub use tenure_core::jobs::{
    Act, Claim, Claimed, EARLY_MAX, Finish, JOBS_MAX, JobOrder, JobReport, JobStanding, OpenJob, OpenJobs, Opened,
    RUNS_MAX, RunEnd, RunOutcome, RunReport, Tick,
};

use super::{ElectionKey, Replies, StoreError};

/// Where the jobs of elections are written down. Offered by a store through [`Store::ledger`](super::Store::ledger).
///
/// # Contract
/// - Each job of an election has a **mark**: all ticks up to it are decided. A mark never falls, whoever leads and whatever
///   clocks say. It is kept as durably as a term.
/// - **`open`** and **`claim`** are conditional on nonce *and* term, as a renewal is. Whether whoever asks holds the lease is
///   decided in the same atomic step.
/// - **A tick is granted once**: a claim beyond the mark moves the mark to its tick and, if it is to be run, writes down a
///   run. A claim at or below the mark is refused, except that of the very nonce and term that has claimed the run already
///   and not told its end, and that of [`Act::RunAgain`] by a later term than the one that claimed the run, as long as its
///   end was not told or it was given back.
/// - A tick that is **ahead of the store's wall clock** by more than [`EARLY_MAX`] is refused as [`Claimed::Early`].
/// - **`finish`** is conditional on nonce and term of the *run*: whoever claimed it may tell its end, even when it leads no
///   more. Told twice, the first counts.
/// - A tick that is **given back**, by telling [`RunOutcome::NotBegun`], counts as missed and not as fired any more, until a later
///   term runs it, and shows in how the job stands for later terms. Never for the one that gave it back: what that told may be under way once more, and must
///   not end another run.
/// - A **new** job has its mark at the present, and one that is opened with another **schedule** than before has it moved
///   there, if that is later. The present is the leader's or the store's, whichever is earlier: a leader whose clock is fast
///   decides nothing that is still to come.
/// - A job that is **paused** stays so, whoever leads, until it is resumed. Claims of its ticks are answered by
///   [`Claimed::Paused`], and decide nothing; only a run that was claimed before is granted again to who claimed it.
/// - A **run that was asked for** is remembered with the second at which it was, until a run is claimed for a tick at or after
///   that. Asked again meanwhile, the first counts.
/// - The latest [`RUNS_MAX`] runs of each job are kept, and at most [`JOBS_MAX`] jobs per election.
/// - **Repeating** any call whose reply was lost changes nothing more.
/// - A ledger touches nothing else: no lease, no term, no history, no list of elections, and nobody is woken.
/// - Futures may be dropped at any time; the write may or may not have happened then.
///
/// The rules are written out in [`tenure_core::jobs::Ledger`], for stores that decide in their own process.
pub trait JobLedger: Send + Sync {
    /// Makes jobs known, and tells how each of them stands. One atomic step.
    fn open<'a>(&'a self, request: &'a OpenJobs) -> BoxFuture<'a, Result<Opened, StoreError>>;

    /// Decides ticks. One atomic step each, in the order of the batch.
    fn claim<'a>(&'a self, batch: &'a [Claim]) -> BoxFuture<'a, Replies<Claimed>>;

    /// Tells how runs ended. One atomic step each. Returns whether it is written down: an end that somebody else tells, or
    /// of a run that is not known any more, is not.
    fn finish<'a>(&'a self, batch: &'a [Finish]) -> BoxFuture<'a, Replies<bool>>;

    /// All jobs in order of their names, each with at most so many runs. For people: it needs no lease.
    fn jobs<'a>(&'a self, key: &'a ElectionKey, max_runs: usize) -> BoxFuture<'a, Result<Vec<JobReport>, StoreError>>;

    /// Does what somebody wants of a job. Returns whether it was known. For people: it needs no lease.
    fn steer<'a>(
        &'a self,
        key: &'a ElectionKey,
        job: &'a JobName,
        order: JobOrder,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Forgets a job, its mark and its runs. Returns whether it was known. For people: if somebody leads whose
    /// configuration still has the job, it begins anew.
    fn forget<'a>(&'a self, key: &'a ElectionKey, job: &'a JobName) -> BoxFuture<'a, Result<bool, StoreError>>;
}
