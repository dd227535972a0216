//! What the store has written down. It keeps the latest runs only, so one looks again and again.

use std::collections::BTreeMap;

use tenure::Tenure;
use tenure::cron::Missed;
use tenure::store::ledger::RUNS_MAX;
use tenure_testkit::site::ELECTION;

/// Who claimed a tick, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) term: u64,
    pub(crate) candidate: String,
    /// On the store's wall clock.
    pub(crate) at_unix_ms: u64,
}

/// What is known of one job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// By tick, in seconds since the Unix epoch.
    pub(crate) claims: BTreeMap<u64, Claim>,
    /// All ticks up to this one are decided.
    pub(crate) mark: u64,
    /// How many were claimed to be run, by the store's own count.
    pub(crate) fired: u64,
    /// How many were missed and passed over, by the store's own count.
    pub(crate) missed: u64,
}

/// All that the store has shown so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Books {
    pub(crate) jobs: BTreeMap<String, Account>,
    /// What it has shown that cannot be.
    pub(crate) contradictions: Vec<String>,
}

impl Books {
    /// Copies what the store shows now. Returns whether it answered.
    pub(crate) fn copy(&mut self, tenure: &Tenure) -> bool {
        let Ok(reports) = tenure.jobs_blocking(ELECTION, RUNS_MAX) else { return false };
        for report in reports {
            let (job, account) = (report.job.to_string(), self.jobs.entry(report.job.to_string()).or_default());
            if report.mark.unix_s() < account.mark {
                self.contradictions.push(format!("the mark of {job} fell from {} to {}", account.mark, report.mark));
            }
            (account.mark, account.fired, account.missed) = (report.mark.unix_s(), report.fired, report.missed);
            for run in report.runs {
                let (term, candidate) = (run.term.get(), run.candidate.to_string());
                let claim = Claim { term, candidate, at_unix_ms: run.began_at_unix_ms };
                let known = account.claims.entry(run.tick.unix_s()).or_insert_with(|| claim.clone());
                if *known != claim {
                    let tick = run.tick;
                    self.contradictions.push(format!("tick {tick} of {job} was claimed twice: {known:?}, {claim:?}"));
                }
            }
        }
        true
    }

    /// Up to which tick all are decided; none before the job is known.
    pub(crate) fn mark(&self, missed: Missed) -> Option<u64> {
        self.jobs.get(&missed.to_string()).map(|account| account.mark)
    }
}
