//! What the store has written down. It keeps the latest runs only, so one looks again and again.

use std::collections::BTreeMap;

use tenure::Tenure;
use tenure::cron::{JobReport, Missed};
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
        let reports = tenure.jobs_blocking(ELECTION, RUNS_MAX);
        reports.map(|reports| reports.iter().for_each(|report| self.take(report))).is_ok()
    }

    fn take(&mut self, report: &JobReport) {
        let (job, mark) = (report.job.to_string(), report.mark.unix_s());
        let account = self.jobs.entry(job.clone()).or_default();
        if mark < account.mark {
            self.contradictions.push(format!("the mark of {job} fell from {} to {mark}", account.mark));
        }
        (account.mark, account.fired, account.missed) = (mark, report.fired, report.missed);
        for run in &report.runs {
            let (term, candidate) = (run.term.get(), run.candidate.to_string());
            let claim = Claim { term, candidate, at_unix_ms: run.began_at_unix_ms };
            let known = account.claims.entry(run.tick.unix_s()).or_insert_with(|| claim.clone());
            if *known != claim {
                let tick = run.tick;
                self.contradictions.push(format!("tick {tick} of {job} was claimed twice: {known:?}, {claim:?}"));
            }
        }
    }

    /// Up to which tick all are decided; none before the job is known.
    pub(crate) fn mark(&self, missed: Missed) -> Option<u64> {
        self.jobs.get(&missed.to_string()).map(|account| account.mark)
    }
}

#[cfg(test)]
mod tests {
    use tenure::cron::{Run, Tick};
    use tenure::{CandidateId, JobName, Term};

    use super::*;

    /// A job with one run, under this term, and this mark.
    fn report(term: u64, mark: u64) -> JobReport {
        let run = Run {
            tick: Tick::from_unix_s(5),
            term: Term::new(term).unwrap(),
            candidate: CandidateId::new("a").unwrap(),
            began_at_unix_ms: 5_001,
            end: None,
        };
        let (job, mark) = (JobName::new("all").unwrap(), Tick::from_unix_s(mark));
        JobReport { job, schedule: "* * * * * *".into(), mark, fired: 1, missed: 0, runs: vec![run] }
    }

    fn contradictions(reports: &[JobReport; 2]) -> Vec<String> {
        let mut books = Books::default();
        reports.iter().for_each(|report| books.take(report));
        assert_eq!(books.jobs["all"].claims.len(), 1);
        books.contradictions
    }

    #[test]
    fn a_store_may_say_the_same_again() {
        assert_eq!(contradictions(&[report(1, 5), report(1, 5)]), Vec::<String>::new());
        assert_eq!(contradictions(&[report(1, 5), report(1, 6)]), Vec::<String>::new());
    }

    #[test]
    fn a_tick_of_two_claims_and_a_mark_that_falls_are_found() {
        let twice = contradictions(&[report(1, 5), report(2, 5)]);
        assert!(twice[0].starts_with("tick 5 of all was claimed twice"), "{twice:?}");
        assert_eq!(contradictions(&[report(1, 6), report(1, 5)]), ["the mark of all fell from 6 to 5"]);
    }
}
