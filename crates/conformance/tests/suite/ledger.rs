//! Bends what is asked of the ledger of the reference store, and what it answers.

use tenure::store::ledger::{
    Act, Claim, Claimed, Finish, JobOrder, JobReport, MAX_JOBS, OpenJobs, Opened, RunOutcome, RunReport,
};
use tenure::store::{ElectionKey, JobLedger, Renew, Replies, StoreError, async_trait};
use tenure::{JobName, Store};

use crate::flaw::Flaw;
use crate::flawed::Flawed;

impl Flawed {
    async fn open_all(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        let mut request = request.clone();
        if let (true, Some((nonce, term))) = (self.has(Flaw::OpeningIgnoresNonceAndTerm), self.holder(&request.key)) {
            (request.nonce, request.term) = (nonce, term);
        }
        let known = self.inner.jobs(&request.key, 0).await?;
        for open in &mut request.jobs {
            let Some(report) = known.iter().find(|report| report.job == open.job) else { continue };
            match self.flaw() {
                Some(Flaw::SchedulesNeverChange) => open.schedule = report.schedule.clone(),
                Some(Flaw::EveryOpeningMovesTheMark) => open.schedule = format!("{} ", report.schedule).into(),
                Some(_) | None => {}
            }
        }
        let opened = self.inner.open(&request).await?;
        if self.has(Flaw::OpensWhatFits) && opened == Opened::TooMany {
            let is_known = |job: &JobName| known.iter().any(|report| report.job == *job);
            let mut room = MAX_JOBS - known.len();
            request.jobs.retain(|open| {
                let has_room = is_known(&open.job) || room > 0;
                room -= usize::from(has_room && !is_known(&open.job));
                has_room
            });
            self.inner.open(&request).await?;
        }
        let Opened::Jobs(mut opened) = opened else { return Ok(opened) };
        for (opened, open) in opened.iter_mut().zip(&request.jobs) {
            match self.flaw() {
                Some(Flaw::ForgetsInterruptedRuns) => opened.interrupted.clear(),
                Some(Flaw::UnbegunTicksAreForgotten) => opened.unbegun.clear(),
                Some(Flaw::EndedRunsCountAsUnbegun) => {
                    let runs = self.runs_of(&request.key, &open.job).await;
                    let ended = runs.iter().rev().filter(|run| run.end.is_some() && run.term < request.term);
                    opened.unbegun = ended.map(|run| run.tick).collect();
                }
                Some(_) | None => {}
            }
        }
        Ok(Opened::Jobs(opened))
    }

    async fn claim_one(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        let mut claim = claim.clone();
        let holder = self.holder(&claim.key);
        match (self.flaw(), holder) {
            (Some(Flaw::ClaimingIgnoresNonceAndTerm), Some((nonce, term))) => (claim.nonce, claim.term) = (nonce, term),
            (Some(Flaw::ClaimsOfStaleLeaders), Some((nonce, term))) if claim.term < term => {
                (claim.nonce, claim.term) = (nonce, term);
            }
            (Some(Flaw::MissedTicksAreForgotten), _) => claim.missed = 0,
            (Some(Flaw::SkippedTicksCountAsMissed), _) if claim.act == Act::Skip => claim.act = Act::Pass,
            (Some(Flaw::ClaimingRenews), _) => self.renew_for_claim(&claim).await,
            (Some(Flaw::LostClaimsAreLost), _) if self.run_of(&claim).await.is_some() => {
                return Ok(Claimed::Decided { mark: claim.tick });
            }
            (Some(flaw), _) => {
                if let Some(claimed) = self.claim_unbegun(flaw, &claim).await {
                    return Ok(claimed);
                }
            }
            (None, _) => {}
        }
        let claimed = self.ask_one(&claim).await?;
        match (self.flaw(), claimed) {
            (Some(Flaw::DecidedTicksAreGranted), Claimed::Decided { .. })
            | (Some(Flaw::EarlyTicksAreGranted), Claimed::Early { .. }) => Ok(Claimed::Granted),
            (Some(Flaw::AnyClaimTakesOver), Claimed::Decided { .. }) => {
                self.ask_one(&Claim { act: Act::RunAgain, ..claim }).await
            }
            (Some(_) | None, claimed) => Ok(claimed),
        }
    }

    async fn ask_one(&self, claim: &Claim) -> Result<Claimed, StoreError> {
        self.inner.claim(std::slice::from_ref(claim)).await.remove(0)
    }

    /// What a flaw answers to whoever wants a tick that was given back.
    async fn claim_unbegun(&self, flaw: Flaw, claim: &Claim) -> Option<Claimed> {
        let run = self.run_of(claim).await.filter(|run| claim.act == Act::RunAgain && is_unbegun(run))?;
        let is_refused = match flaw {
            Flaw::UnbegunTicksAreForTheSameTerm if run.term == claim.term => return Some(Claimed::Granted),
            Flaw::UnbegunTicksAreRefused => true,
            // Whoever began it first had the first term of all.
            Flaw::UnbegunTicksAreRunOnceMoreOnly => run.term.get() > 1,
            _ => false,
        };
        is_refused.then_some(Claimed::Decided { mark: claim.tick })
    }

    async fn run_of(&self, claim: &Claim) -> Option<RunReport> {
        self.runs_of(&claim.key, &claim.job).await.into_iter().find(|run| run.tick == claim.tick)
    }

    async fn runs_of(&self, key: &ElectionKey, job: &JobName) -> Vec<RunReport> {
        let known = self.inner.jobs(key, usize::MAX).await.unwrap();
        known.into_iter().find(|report| report.job == *job).map(|report| report.runs).unwrap_or_default()
    }

    async fn renew_for_claim(&self, claim: &Claim) {
        if let Some(lease) = self.observe_inner(&claim.key).await.lease {
            let Claim { key, nonce, term, .. } = claim.clone();
            self.inner.renew(&[Renew { key, nonce, term, ttl: lease.ttl.unwrap_or_default() }]).await;
        }
    }

    async fn finish_one(&self, finish: &Finish) -> Result<bool, StoreError> {
        let mut finish = finish.clone();
        if let (true, RunOutcome::Failed { why }) = (self.has(Flaw::FailuresAreTrimmed), &mut finish.outcome) {
            *why = why.trim().to_owned();
        }
        if let (true, RunOutcome::NotBegun, Some((nonce, term))) =
            (self.has(Flaw::AnybodyGivesBack), &finish.outcome, self.holder(&finish.key))
        {
            (finish.nonce, finish.term) = (nonce, term);
        }
        if self.has(Flaw::EndsNeedTheLease) && self.observe_inner(&finish.key).await.lease.is_none() {
            return Ok(false);
        }
        let is_heard = self.inner.finish(std::slice::from_ref(&finish)).await.remove(0)?;
        Ok(is_heard || self.has(Flaw::EveryEndIsHeard))
    }
}

#[async_trait]
impl JobLedger for Flawed {
    async fn open(&self, request: &OpenJobs) -> Result<Opened, StoreError> {
        self.open_all(request).await
    }

    async fn claim(&self, batch: &[Claim]) -> Replies<Claimed> {
        let mut replies = Vec::new();
        let is_reversed = self.has(Flaw::ClaimsOutOfOrder);
        for position in 0..batch.len() {
            let position = if is_reversed { batch.len() - 1 - position } else { position };
            replies.push(self.claim_one(&batch[position]).await);
        }
        if is_reversed {
            replies.reverse();
        }
        replies
    }

    async fn finish(&self, batch: &[Finish]) -> Replies<bool> {
        let mut replies = Vec::new();
        for finish in batch {
            replies.push(self.finish_one(finish).await);
        }
        replies
    }

    async fn jobs(&self, key: &ElectionKey, max_runs: usize) -> Result<Vec<JobReport>, StoreError> {
        let max_runs = if self.has(Flaw::RunsWithoutLimit) { usize::MAX } else { max_runs };
        let mut jobs = self.inner.jobs(key, max_runs).await?;
        if self.has(Flaw::JobsOutOfOrder) {
            jobs.reverse();
        }
        if self.has(Flaw::UnbegunTicksHaveFired) {
            jobs.iter_mut().for_each(|report| report.fired += count_unbegun(&report.runs));
        }
        if self.has(Flaw::UnbegunTicksAreNotMissed) {
            jobs.iter_mut().for_each(|report| report.missed -= count_unbegun(&report.runs));
        }
        if self.has(Flaw::RunsOldestFirst) {
            jobs.iter_mut().for_each(|report| report.runs.reverse());
        }
        Ok(jobs)
    }

    async fn steer(&self, key: &ElectionKey, job: &JobName, order: JobOrder) -> Result<bool, StoreError> {
        let order = match (self.flaw(), order) {
            (Some(Flaw::NothingIsPaused), JobOrder::Pause) => JobOrder::Resume,
            (Some(Flaw::PausedForEver), JobOrder::Resume) => JobOrder::Pause,
            (Some(Flaw::RunNowIsForgotten), JobOrder::RunNow) => JobOrder::Resume,
            (_, order) => order,
        };
        self.inner.steer(key, job, order).await
    }

    async fn forget(&self, key: &ElectionKey, job: &JobName) -> Result<bool, StoreError> {
        let is_known = JobLedger::forget(&self.inner, key, job).await?;
        if self.has(Flaw::ForgetsAllJobs) {
            for report in self.inner.jobs(key, 0).await? {
                JobLedger::forget(&self.inner, key, &report.job).await?;
            }
        }
        Ok(is_known)
    }
}

fn is_unbegun(run: &RunReport) -> bool {
    run.end.as_ref().is_some_and(|end| end.outcome == RunOutcome::NotBegun)
}

fn count_unbegun(runs: &[RunReport]) -> u64 {
    runs.iter().filter(|run| is_unbegun(run)).map(|_| 1).sum()
}
