//! What the store has written down. It keeps the latest runs only, so one looks again and again.

use std::collections::BTreeMap;

use tenure::blocking::Client;
use tenure::cron::{JobReport, Missed, RunOutcome, RunReport};
use tenure::store::ledger::MAX_RUNS;
use tenure_testkit::scenario::ELECTION;

/// Who claimed a tick, when, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedClaim {
    pub(crate) term: u64,
    pub(crate) candidate: String,
    /// On the store's wall clock.
    pub(crate) at_unix_ms: u64,
    pub(crate) end: ClaimEnd,
}

/// What the store was told of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimEnd {
    /// Nothing.
    Untold,
    /// That its run never began.
    GivenBack,
    /// That its run ended, however.
    Ran,
}

/// What is known of one job.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObservedJob {
    /// By tick, in seconds since the Unix epoch: all claims of it that were seen, the last one last.
    pub(crate) claims: BTreeMap<u64, Vec<ObservedClaim>>,
    /// All ticks up to this one are decided.
    pub(crate) mark: u64,
    /// How many were claimed to be run, and not given back, by the store's own count.
    pub(crate) fired: u64,
    /// How many were missed, and how many came during a run, by the store's own count.
    pub(crate) missed: u64,
    pub(crate) skipped: u64,
}

/// All that the store has shown so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObservedJobs {
    pub(crate) jobs: BTreeMap<String, ObservedJob>,
    /// What it has shown that cannot be.
    pub(crate) contradictions: Vec<String>,
}

impl ObservedJobs {
    /// Copies what the store shows now. Returns whether it answered.
    pub(crate) fn copy(&mut self, client: &Client) -> bool {
        let reports = client.election(ELECTION).unwrap().jobs(MAX_RUNS);
        reports.map(|reports| reports.iter().for_each(|report| self.take(report))).is_ok()
    }

    fn take(&mut self, report: &JobReport) {
        let (job, mark) = (report.job.to_string(), report.mark.unix_s());
        let account = self.jobs.entry(job.clone()).or_default();
        if mark < account.mark {
            self.contradictions.push(format!("the mark of {job} fell from {} to {mark}", account.mark));
        }
        (account.mark, account.fired) = (mark, report.fired);
        (account.missed, account.skipped) = (report.missed, report.skipped);
        for run in &report.runs {
            let known = account.claims.entry(run.tick.unix_s()).or_default();
            if let Err(why) = ObservedClaim::of(run).join(known) {
                self.contradictions.push(format!("tick {} of {job} was {why}", run.tick));
            }
        }
    }

    /// Up to which tick all are decided; none before the job is known.
    pub(crate) fn mark(&self, missed: Missed) -> Option<u64> {
        self.jobs.get(&missed.to_string()).map(|account| account.mark)
    }
}

impl ObservedJob {
    /// The last claim of each tick.
    pub(crate) fn last_claims(&self) -> impl Iterator<Item = (u64, &ObservedClaim)> {
        self.claims.iter().filter_map(|(tick, claims)| Some((*tick, claims.last()?)))
    }
}

impl ObservedClaim {
    fn of(run: &RunReport) -> Self {
        let end = match run.end.as_ref().map(|end| &end.outcome) {
            None => ClaimEnd::Untold,
            Some(RunOutcome::NotBegun) => ClaimEnd::GivenBack,
            Some(_) => ClaimEnd::Ran,
        };
        Self { term: run.term.get(), candidate: run.candidate.to_string(), at_unix_ms: run.began_at_unix_ms, end }
    }

    /// Puts it with those of the same tick that were seen before. Only a later term may claim a tick once more, and only one
    /// that was given back; that it was need not have been seen.
    fn join(self, known: &mut Vec<Self>) -> Result<(), String> {
        match known.last_mut() {
            None => {}
            Some(last) if Self { end: last.end, ..self.clone() } == *last => {
                if last.end != ClaimEnd::Untold && last.end != self.end {
                    return Err(format!("told of otherwise later: {last:?}, {self:?}"));
                }
                last.end = self.end;
                return Ok(());
            }
            Some(last) if last.term >= self.term || last.end == ClaimEnd::Ran => {
                return Err(format!("claimed twice: {last:?}, {self:?}"));
            }
            Some(last) => last.end = ClaimEnd::GivenBack,
        }
        known.push(self);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tenure::cron::{RunEnd, Tick};
    use tenure::{CandidateId, JobName, Term};

    use std::time::Duration;

    use super::*;

    /// A job with one run, under this term, that ended like this, and this mark.
    fn ended(term: u64, outcome: Option<RunOutcome>, mark: u64) -> JobReport {
        let run = RunReport {
            tick: Tick::from_unix_s(5),
            term: Term::new(term).unwrap(),
            candidate: CandidateId::new("a").unwrap(),
            began_at_unix_ms: 5_001,
            end: outcome.map(|outcome| RunEnd { at_unix_ms: 5_002, took: Duration::ZERO, retries: 0, outcome }),
        };
        let (job, mark) = (JobName::new("all").unwrap(), Tick::from_unix_s(mark));
        JobReport {
            job,
            schedule: "* * * * * *".into(),
            mark,
            fired: 1,
            missed: 0,
            skipped: 0,
            paused_at_unix_ms: None,
            requested: None,
            runs: vec![run],
        }
    }

    fn report(term: u64, mark: u64) -> JobReport {
        ended(term, None, mark)
    }

    fn contradictions(reports: &[JobReport]) -> Vec<String> {
        let mut observed = ObservedJobs::default();
        reports.iter().for_each(|report| observed.take(report));
        assert_eq!(observed.jobs["all"].claims.len(), 1);
        observed.contradictions
    }

    #[test]
    fn a_store_may_say_the_same_again() {
        assert_eq!(contradictions(&[report(1, 5), report(1, 5)]), Vec::<String>::new());
        assert_eq!(contradictions(&[report(1, 5), report(1, 6)]), Vec::<String>::new());
    }

    #[test]
    fn a_tick_may_be_claimed_by_a_later_leader_after_it_was_given_back() {
        let back = Some(RunOutcome::NotBegun);
        let seen = [report(1, 5), ended(1, back, 5), report(2, 6), ended(2, Some(RunOutcome::Cancelled), 7)];
        assert_eq!(contradictions(&seen), Vec::<String>::new());
        // One does not look at every moment.
        assert_eq!(contradictions(&[report(1, 5), report(3, 5)]), Vec::<String>::new());
        let mut observed = ObservedJobs::default();
        [report(1, 5), report(3, 5)].iter().for_each(|report| observed.take(report));
        let ends: Vec<ClaimEnd> = observed.jobs["all"].claims[&5].iter().map(|claim| claim.end).collect();
        assert_eq!(ends, [ClaimEnd::GivenBack, ClaimEnd::Untold]);
    }

    #[test]
    fn a_tick_of_two_claims_and_a_mark_that_falls_are_found() {
        let (ran, back) = (Some(RunOutcome::Succeeded), Some(RunOutcome::NotBegun));
        for twice in [
            [ended(1, ran.clone(), 5), report(2, 5)],
            [ended(1, back.clone(), 5), report(1, 5)],
            [report(2, 5), report(1, 5)],
            [ended(2, back.clone(), 5), report(1, 5)],
            [ended(1, ran, 5), ended(1, back, 5)],
        ] {
            let found = contradictions(&twice);
            assert!(found[0].starts_with("tick 5 of all was"), "{found:?}");
        }
        assert_eq!(contradictions(&[report(1, 6), report(1, 5)]), ["the mark of all fell from 6 to 5"]);
    }
}
