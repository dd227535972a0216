//! `tenure lock`: a command that runs once, under a lock.

use std::time::Duration;

use tenure::{Clock, ElectionName, Error, EventKind, Instant, LockWait};

use super::run::{RunPlan, RunPurpose, carry_out};
use crate::args::{Global, LockArgs};
use crate::exit::{CommandError, Exit};

pub(super) async fn execute(global: &Global, args: LockArgs) -> Result<Exit, CommandError> {
    let LockArgs { name, candidate, wait, no_wait, report, environment, command } = args;
    // The store is asked once, however short the wait.
    let (wait, max_wait) = match wait {
        _ if no_wait => (LockWait::new().asking_once(), None),
        Some(Duration::ZERO) => (LockWait::new().asking_once(), None),
        limit => (LockWait::new(), limit),
    };
    let began = Clock::boottime().now();
    let purpose = RunPurpose::Lock(LockPurpose { wait, began, max_wait, is_waiting_refused: no_wait });
    carry_out(global, &candidate, RunPlan { name, command, report, environment, purpose }).await
}

/// How long the lock is waited for, and what was last heard of it.
pub(super) struct LockPurpose {
    wait: LockWait,
    began: Instant,
    /// None when it is waited for as long as it takes, and when the store is asked once.
    max_wait: Option<Duration>,
    /// Whether `--no-wait` was given.
    is_waiting_refused: bool,
}

impl LockPurpose {
    pub(super) fn asks_once(&self) -> bool {
        self.wait.asks_once()
    }

    /// Notes what was heard, and returns whether it is enough.
    pub(super) fn note(&mut self, event: &EventKind) -> bool {
        self.wait.note(event)
    }

    /// When it is over, whatever was heard.
    pub(super) fn until(&self) -> Option<Instant> {
        self.max_wait.map(|limit| self.began + limit)
    }

    /// How it ended without the lock, and what to do about it.
    pub(super) fn verdict(&self, name: &ElectionName) -> (Exit, String) {
        match self.wait.error(name, self.max_wait.unwrap_or_default()) {
            error @ Error::LockBusy { .. } if self.max_wait.is_some() => (Exit::NotElected, error.to_string()),
            Error::LockBusy { holder, .. } => {
                let advice = if self.is_waiting_refused {
                    "leave out --no-wait to wait for it"
                } else {
                    "give --wait more time to wait for it"
                };
                let by = holder.map_or("is held or reserved".to_owned(), |id| format!("is held by {id}"));
                (Exit::NotElected, format!("the lock {name} {by}; {advice}"))
            }
            _ => {
                let what = format!("the store did not answer the request for the lock {name}");
                (Exit::StoreUnavailable, format!("{what}; run `tenure doctor` to find out why"))
            }
        }
    }
}
