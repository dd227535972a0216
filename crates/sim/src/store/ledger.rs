//! One request about jobs at a store: the real rules of its ledger, and the mistakes it can be made to make.

use tenure_core::cron::{Act, Claim, Claimed, Finish, Ledger, Open, Opened, RunRecord, Tick};
use tenure_core::{Nonce, Term};

use crate::mistake::LedgerMistake;

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) enum JobRequest {
    Open(Open),
    Claim(Claim),
    Finish(Finish),
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum JobReply {
    Opened(Opened),
    Claimed(Claimed),
    /// Whether it is written down.
    Finished(bool),
    /// The store could not be asked, or could not answer.
    Failed,
}

/// Where a request about jobs is served.
pub(crate) struct LedgerDesk<'a> {
    pub(crate) ledger: &'a mut Ledger,
    /// The store's wall clock.
    pub(crate) unix_ms: u64,
    /// Whether whoever asks holds the lease.
    pub(crate) is_held: bool,
    pub(crate) mistake: Option<LedgerMistake>,
}

impl JobRequest {
    /// Who has to hold the lease.
    pub(crate) fn asker(&self) -> (Nonce, Term) {
        match self {
            Self::Open(open) => (open.nonce, open.term),
            Self::Claim(claim) => (claim.nonce, claim.term),
            Self::Finish(finish) => (finish.nonce, finish.term),
        }
    }
}

impl LedgerDesk<'_> {
    /// One atomic step.
    pub(crate) fn serve(&mut self, request: &JobRequest) -> JobReply {
        self.err(request);
        match request {
            JobRequest::Open(_) if !self.is_held => JobReply::Opened(Opened::NotHolder),
            JobRequest::Open(open) => JobReply::Opened(self.ledger.open(&open.jobs, open.term, self.unix_ms)),
            JobRequest::Claim(_) if !self.is_held => JobReply::Claimed(Claimed::NotHolder),
            JobRequest::Claim(claim) => JobReply::Claimed(self.ledger.claim(claim, self.unix_ms)),
            JobRequest::Finish(_) if self.mistake == Some(LedgerMistake::EndsForgotten) => JobReply::Finished(true),
            JobRequest::Finish(finish) => JobReply::Finished(self.ledger.finish(finish, self.unix_ms)),
        }
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
            _ => (),
        }
    }

    fn revive(&mut self, claim: &Claim, is_meant: impl Fn(&RunRecord) -> bool) {
        let Some(record) = self.ledger.jobs.get_mut(&claim.job) else { return };
        for known in record.runs.iter_mut().filter(|known| known.run.tick == claim.tick && is_meant(known)) {
            known.run.end = None;
        }
    }
}
