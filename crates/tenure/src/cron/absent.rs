//! Marks known jobs that the leader does not have, so that no next tick is shown for them.
//!
//! It is written behind their schedules, under the lease, and moves no mark. A candidate that has such a job finds it as it was
//! left, and what it missed is known: candidates may differ for a while, as they do when a new version of a file is spread.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::jobs::{JobReport, OpenJob, OpenJobs};
use tenure_core::{JobName, WriteOutcome};

use super::written::{absent, present};
use crate::store::{JobLedger, StoreError};

/// Says which of the known jobs are not among these, and takes it back of those that are.
///
/// # Errors
/// When it may be done later: these jobs must not be opened before.
pub(super) async fn note(ledger: &dyn JobLedger, request: &OpenJobs) -> Result<(), StoreError> {
    match change(ledger, request).await {
        // What the store will never tell, because a record is damaged, say, keeps no job from firing.
        Err(error) if error.failure() == WriteOutcome::Refused => Ok(()),
        changed => changed,
    }
}

async fn change(ledger: &dyn JobLedger, request: &OpenJobs) -> Result<(), StoreError> {
    let own: BTreeMap<&JobName, &OpenJob> = request.jobs.iter().map(|open| (&open.job, open)).collect();
    let known = ledger.jobs(&request.key, 0).await?;
    let change = |report: &JobReport| {
        let schedule = schedule(&report.schedule, own.get(&report.job).copied())?;
        // That moves no mark, and sets it no lower should somebody forget the job just now.
        Some(OpenJob { job: report.job.clone(), schedule, from: report.mark })
    };
    let jobs: Vec<OpenJob> = known.iter().filter_map(change).collect();
    if !jobs.is_empty() {
        // Whether we still hold the lease is told to whoever opens the jobs next.
        ledger.open(&OpenJobs { jobs, ..request.clone() }).await?;
    }
    Ok(())
}

/// What is to be written of a job in place of this, if it is something else.
fn schedule(written: &str, own: Option<&OpenJob>) -> Option<Arc<str>> {
    match (own, present(written)) {
        (None, None) => Some(absent(written)),
        (Some(own), Some(before)) if *own.schedule == *before => Some(Arc::clone(&own.schedule)),
        // One that is back with another schedule begins at the present, as any that is changed.
        (Some(_), _) | (None, Some(_)) => None,
    }
}
