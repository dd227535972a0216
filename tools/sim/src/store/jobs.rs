//! One request about jobs at a store: the real rules of its ledger, and the mistakes it can be made to make.

use tenure_core::jobs::{Act, Claim, Claimed, Finish, JobReport, OpenJobs, Opened, RunOutcome, Tick};
use tenure_core::store_rules::ledger::{JobRecord, Ledger, RunRecord};
use tenure_core::{JobName, Nonce, Term, WriteOutcome};

use crate::mistake::LedgerMistake;

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum JobRequest {
    /// Which jobs are known?
    List,
    Open(OpenJobs),
    Claim(Claim),
    Finish(Finish),
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum JobReply {
    Listed(Vec<JobReport>),
    Opened(Opened),
    Claimed(Claimed),
    /// Whether it is written down.
    Finished(bool),
    /// The store could not be asked, or could not answer.
    Failed(WriteOutcome),
}

/// Where a request about jobs is served.
pub(crate) struct LedgerStep<'a> {
    pub(crate) ledger: &'a mut Ledger,
    /// The store's wall clock.
    pub(crate) unix_ms: u64,
    /// Whether whoever asks holds the lease.
    pub(crate) is_held: bool,
    pub(crate) mistake: Option<LedgerMistake>,
}

impl JobRequest {
    /// Who has to hold the lease, if it matters.
    pub(crate) fn asker(&self) -> Option<(Nonce, Term)> {
        match self {
            Self::List => None,
            Self::Open(open) => Some((open.nonce, open.term)),
            Self::Claim(claim) => Some((claim.nonce, claim.term)),
            Self::Finish(finish) => Some((finish.nonce, finish.term)),
        }
    }

    /// Which tick is claimed.
    pub(crate) fn claimed(&self) -> Option<(&JobName, Tick)> {
        match self {
            Self::Claim(claim) => Some((&claim.job, claim.tick)),
            Self::List | Self::Open(_) | Self::Finish(_) => None,
        }
    }

    /// Whether it says that a tick was never begun.
    pub(crate) fn gives_back(&self) -> bool {
        matches!(self, Self::Finish(finish) if finish.outcome == RunOutcome::NotBegun)
    }
}

/// Whether it was claimed and given back.
pub(super) fn is_back(known: &RunRecord) -> bool {
    known.run.end.as_ref().is_some_and(|end| end.outcome == RunOutcome::NotBegun)
}

impl LedgerStep<'_> {
    /// One atomic step.
    pub(crate) fn serve(&mut self, request: &JobRequest) -> JobReply {
        self.err(request);
        match request {
            JobRequest::List => JobReply::Listed(self.ledger.report(0)),
            JobRequest::Open(_) if !self.is_held => JobReply::Opened(Opened::NotHolder),
            JobRequest::Open(open) => JobReply::Opened(self.open(open)),
            JobRequest::Claim(_) if !self.is_held => JobReply::Claimed(Claimed::NotHolder),
            JobRequest::Claim(claim) => JobReply::Claimed(self.claim(claim)),
            JobRequest::Finish(_) if self.mistake == Some(LedgerMistake::EndsForgotten) => JobReply::Finished(true),
            JobRequest::Finish(finish) => JobReply::Finished(self.finish(finish)),
        }
    }

    fn open(&mut self, open: &OpenJobs) -> Opened {
        let mut opened = self.ledger.open(&open.jobs, open.term, self.unix_ms);
        if let (Opened::Jobs(opened), Some(LedgerMistake::GivenBackUnreported)) = (&mut opened, self.mistake) {
            opened.iter_mut().for_each(|opened| opened.unbegun.clear());
        }
        opened
    }

    fn claim(&mut self, claim: &Claim) -> Claimed {
        let end = self.run(claim).filter(|known| is_back(known)).and_then(|known| known.run.end.clone());
        let claimed = self.ledger.claim(claim, self.unix_ms);
        if self.mistake == Some(LedgerMistake::GivenBackForEver)
            && claimed == Claimed::Granted
            && let (Some(end), Some(known)) = (end, self.run(claim))
        {
            known.run.end = Some(end);
        }
        claimed
    }

    fn finish(&mut self, finish: &Finish) -> bool {
        let fired = self.record(&finish.job).map(|record| record.fired);
        let is_known = self.ledger.finish(finish, self.unix_ms);
        if self.mistake == Some(LedgerMistake::GivenBackCounts)
            && let (Some(record), Some(fired)) = (self.record(&finish.job), fired)
        {
            record.fired = fired;
        }
        is_known
    }

    fn record(&mut self, job: &JobName) -> Option<&mut JobRecord> {
        self.ledger.jobs.get_mut(job)
    }

    fn run(&mut self, claim: &Claim) -> Option<&mut RunRecord> {
        self.record(&claim.job)?.runs.iter_mut().find(|known| known.run.tick == claim.tick)
    }

    /// Bends the ledger so that the rules come to a wrong decision.
    fn err(&mut self, request: &JobRequest) {
        match (self.mistake, request) {
            (Some(LedgerMistake::ClaimsByAnyone), JobRequest::Claim(_)) => self.is_held = true,
            (Some(LedgerMistake::GrantsAtMark), JobRequest::Claim(claim)) => {
                if let Some(record) = self.ledger.jobs.get_mut(&claim.job)
                    && record.mark == claim.tick
                {
                    record.mark = Tick::from_unix_s(claim.tick.unix_s() - 1);
                }
            }
            (Some(LedgerMistake::MarkLostAtOpen), JobRequest::Open(_)) if self.is_held => self.ledger.jobs.clear(),
            (Some(LedgerMistake::OpensAhead), JobRequest::Open(_)) => self.unix_ms = u64::MAX,
            (Some(LedgerMistake::GrantsEarly), JobRequest::Claim(claim)) => {
                self.unix_ms = self.unix_ms.max(claim.tick.unix_ms());
            }
            (Some(LedgerMistake::ClaimRevivesRun), JobRequest::Claim(claim)) if claim.act == Act::Run => {
                self.revive(claim, |known| known.nonce == claim.nonce && known.run.term == claim.term);
            }
            (Some(LedgerMistake::EndedRunAgain), JobRequest::Claim(claim)) if claim.act == Act::RunAgain => {
                self.revive(claim, |known| known.run.term < claim.term);
            }
            (Some(LedgerMistake::RunTakesGivenBack), JobRequest::Claim(claim)) if claim.act == Act::Run => {
                self.take_back(claim);
            }
            _ => (),
        }
    }

    /// Makes a tick that was given back one that was claimed.
    fn take_back(&mut self, claim: &Claim) {
        let is_own = |known: &RunRecord| known.nonce == claim.nonce && known.run.term == claim.term;
        if self.is_held && self.run(claim).is_some_and(|known| is_back(known) && is_own(known)) {
            self.revive(claim, is_back);
            self.record(&claim.job).into_iter().for_each(|record| record.fired += 1);
        }
    }

    fn revive(&mut self, claim: &Claim, is_meant: impl Fn(&RunRecord) -> bool) {
        let Some(record) = self.ledger.jobs.get_mut(&claim.job) else { return };
        for known in record.runs.iter_mut().filter(|known| known.run.tick == claim.tick && is_meant(known)) {
            known.run.end = None;
        }
    }
}
