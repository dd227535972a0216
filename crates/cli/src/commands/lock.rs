//! `tenure lock`: a command that runs once, under a lock.

use std::time::Duration;

use tenure::{CandidateId, Clock, ElectionName, Error, Instant, Leader};

use super::run::{RunPlan, RunPurpose, carry_out};
use crate::args::{Global, LockArgs};
use crate::exit::{CommandError, Exit};

pub(super) async fn execute(global: &Global, args: LockArgs) -> Result<Exit, CommandError> {
    let LockArgs { name, candidate, wait, no_wait, report, environment, command } = args;
    let limit = match wait {
        _ if no_wait => WaitLimit::FirstAnswer,
        // The store is asked once, however short the wait.
        Some(Duration::ZERO) => WaitLimit::FirstAnswer,
        Some(limit) => WaitLimit::After(limit),
        None => WaitLimit::Never,
    };
    let wait =
        LockWait { began: Clock::boottime().now(), limit, is_waiting_refused: no_wait, heard: LockReply::Nothing };
    carry_out(global, &candidate, RunPlan { name, command, report, environment, purpose: RunPurpose::Lock(wait) }).await
}

/// How long the lock is waited for, and what was last heard of it.
pub(super) struct LockWait {
    began: Instant,
    limit: WaitLimit,
    /// Whether `--no-wait` was given.
    is_waiting_refused: bool,
    heard: LockReply,
}

enum WaitLimit {
    Never,
    FirstAnswer,
    After(Duration),
}

enum LockReply {
    Nothing,
    /// Somebody holds it, or it is reserved for somebody.
    Taken(Option<CandidateId>),
    Failed,
}

impl LockWait {
    pub(super) fn taken_by(&mut self, holder: Option<&Leader>) {
        self.heard = LockReply::Taken(holder.map(|holder| holder.candidate.clone()));
    }

    pub(super) fn failed(&mut self) {
        self.heard = LockReply::Failed;
    }

    /// Whether the last answer is enough to decide.
    pub(super) fn ends_with_an_answer(&self) -> bool {
        matches!(self.limit, WaitLimit::FirstAnswer)
    }

    /// When it is over, whatever was heard.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.limit {
            WaitLimit::After(limit) => Some(self.began + limit),
            WaitLimit::FirstAnswer | WaitLimit::Never => None,
        }
    }

    /// How it ended without the lock, and what to do about it.
    pub(super) fn verdict(&self, name: &ElectionName) -> (Exit, String) {
        match (&self.heard, &self.limit) {
            (LockReply::Taken(holder), WaitLimit::After(limit)) => {
                let error = Error::LockBusy { name: name.clone(), holder: holder.clone(), waited: *limit };
                (Exit::NotElected, error.to_string())
            }
            (LockReply::Taken(holder), WaitLimit::FirstAnswer | WaitLimit::Never) => {
                let advice = if self.is_waiting_refused {
                    "leave out --no-wait to wait for it"
                } else {
                    "give --wait more time to wait for it"
                };
                let by = holder.as_ref().map_or("is held or reserved".to_owned(), |id| format!("is held by {id}"));
                (Exit::NotElected, format!("the lock {name} {by}; {advice}"))
            }
            (LockReply::Nothing | LockReply::Failed, _) => {
                let what = format!("the store did not answer the request for the lock {name}");
                (Exit::StoreUnavailable, format!("{what}; run `tenure doctor` to find out why"))
            }
        }
    }
}
