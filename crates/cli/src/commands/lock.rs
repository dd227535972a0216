//! `tenure lock`: a command that runs once, under a lock.

use std::time::Duration;

use tenure::{CandidateId, Clock, ElectionName, Error, Instant, Leader};

use super::run::{Plan, Purpose, carry_out};
use crate::args::{Global, LockArgs};
use crate::exit::{Exit, Failure};

pub(super) async fn execute(global: &Global, args: LockArgs) -> Result<Exit, Failure> {
    let LockArgs { name, candidate, wait, no_wait, report, environment, command } = args;
    let limit = match wait {
        _ if no_wait => Limit::FirstAnswer,
        Some(limit) => Limit::After(limit),
        None => Limit::Never,
    };
    let wait = Wait { began: Clock::boottime().now(), limit, heard: Heard::Nothing };
    carry_out(global, &candidate, Plan { name, command, report, environment, purpose: Purpose::Lock(wait) }).await
}

/// How long the lock is waited for, and what was last heard of it.
pub(super) struct Wait {
    began: Instant,
    limit: Limit,
    heard: Heard,
}

enum Limit {
    Never,
    FirstAnswer,
    After(Duration),
}

enum Heard {
    Nothing,
    /// Somebody holds it, or it is reserved for somebody.
    Taken(Option<CandidateId>),
    Failed,
}

impl Wait {
    pub(super) fn taken_by(&mut self, holder: Option<&Leader>) {
        self.heard = Heard::Taken(holder.map(|holder| holder.candidate.clone()));
    }

    pub(super) fn failed(&mut self) {
        self.heard = Heard::Failed;
    }

    /// Whether what was heard just now is enough.
    pub(super) fn ends_with_an_answer(&self) -> bool {
        matches!(self.limit, Limit::FirstAnswer)
    }

    /// When it is over, whatever was heard.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.limit {
            Limit::After(limit) => Some(self.began + limit),
            Limit::FirstAnswer | Limit::Never => None,
        }
    }

    /// How it ended without the lock, and what to do about it.
    pub(super) fn verdict(&self, name: &ElectionName) -> (Exit, String) {
        match (&self.heard, &self.limit) {
            (Heard::Taken(holder), Limit::After(limit)) => {
                let error = Error::LockBusy { name: name.clone(), holder: holder.clone(), waited: *limit };
                (Exit::NotElected, error.to_string())
            }
            (Heard::Taken(holder), Limit::FirstAnswer | Limit::Never) => {
                let by =
                    holder.as_ref().map_or("is about to be somebody's".to_owned(), |id| format!("is held by {id}"));
                (Exit::NotElected, format!("the lock {name} {by}; leave out --no-wait to wait for it"))
            }
            (Heard::Nothing | Heard::Failed, _) => {
                let what = format!("the store could not be asked for the lock {name}; see what is wrong with it");
                (Exit::StoreUnavailable, format!("{what} with `tenure doctor`"))
            }
        }
    }
}
