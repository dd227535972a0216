//! The guards of `tenure cron`: one for each current run, and some spare ones for the next.

use std::ffi::OsString;

use tenure::{Client, Instant, Leadership, Term, Timing};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::super::guarded::{Guarded, Stdin};
use super::run::RunRequest;
use super::supervise_run::supervise_run;
use crate::exit::{CommandError, Exit};
use crate::options::Credentials;
use crate::supervise::TrustDeadlines;

/// A guard that waits takes a process and little memory; more than this are rarely wanted again.
const MAX_WAITING: usize = 8;

/// All guards.
pub(super) struct GuardPool {
    client: Client,
    timing: Timing,
    credentials: Credentials,
    /// The leadership whose lease idle guards would release; those of runs know that of their run.
    held: Option<Leadership>,
    /// What all commands are told.
    told: Vec<(OsString, OsString)>,
    leadership: watch::Sender<SharedLeadership>,
    busy: JoinSet<Result<Guarded, CommandError>>,
    waiting: Vec<Guarded>,
}

/// What all running commands have to know of the leadership.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SharedLeadership {
    leading: Option<(Term, TrustDeadlines)>,
    lost: Option<(Term, Instant)>,
    /// Whether the time to wait is over for everybody.
    pub(super) hurry: bool,
}

impl SharedLeadership {
    /// The newest trust in a term, if it leads and there is any patience.
    pub(super) fn trust_in(&self, term: Term) -> Option<TrustDeadlines> {
        self.leading.filter(|(leading, _)| *leading == term && !self.hurry).map(|(_, trust)| trust)
    }

    /// When what runs under a term is killed, if it is lost.
    pub(super) fn kill_at(&self, term: Term) -> Option<Instant> {
        self.lost.filter(|(lost, _)| *lost == term).map(|(_, kill_at)| kill_at)
    }
}

impl GuardPool {
    /// A pool with one guard, so that whoever cannot have one learns it at once.
    pub(super) fn launch(client: &Client, timing: Timing, credentials: Credentials) -> Result<Self, CommandError> {
        let first = Guarded::launch(client, Stdin::Empty, timing, credentials.clone())?;
        Ok(Self {
            client: client.clone(),
            timing,
            credentials,
            held: None,
            told: Vec::new(),
            leadership: watch::Sender::default(),
            busy: JoinSet::new(),
            waiting: vec![first],
        })
    }

    /// What all commands are told from here on.
    pub(super) fn tell_of(&mut self, told: Vec<(OsString, OsString)>) {
        self.told = told;
    }

    /// Begins a run.
    pub(super) fn begin(&mut self, ask: RunRequest) {
        let guarded = match self.waiting.pop() {
            Some(guarded) => Ok(guarded),
            None => Guarded::launch(&self.client, Stdin::Empty, self.timing, self.credentials.clone()),
        };
        match guarded {
            Ok(guarded) => {
                let (told, leadership) = (self.told.clone(), self.leadership.subscribe());
                self.busy.spawn(supervise_run(guarded, self.timing.grace(), ask, told, leadership));
            }
            // Whoever asked is gone only if all is about to end.
            Err(failure) => drop(ask.done.send(Err(failure.message))),
        }
    }

    /// Takes back the guard of a run that has ended; `None` if none goes on. Cancel safe.
    ///
    /// # Errors
    /// When a guard died and there cannot be another.
    pub(super) async fn next_end(&mut self) -> Option<Result<(), CommandError>> {
        let ended = self.busy.join_next().await?;
        Some(ended.unwrap_or_else(|error| Err(CommandError::new(Exit::Internal, error.to_string()))).map(
            |mut guarded| {
                if self.waiting.len() < MAX_WAITING {
                    guarded.holds(self.held.as_ref());
                    self.waiting.push(guarded);
                }
            },
        ))
    }

    /// A term leads, and is trusted so far.
    pub(super) fn trust(&mut self, term: Term, trust: TrustDeadlines) {
        self.leadership.send_modify(|leadership| leadership.leading = Some((term, trust)));
    }

    /// The lease of this leadership is held, or none.
    pub(super) fn holds(&mut self, leadership: Option<Leadership>) {
        self.held = leadership;
        for guarded in &mut self.waiting {
            guarded.holds(self.held.as_ref());
        }
    }

    /// A term is lost.
    pub(super) fn lost(&mut self, term: Term, kill_at: Instant) {
        self.leadership.send_modify(|leadership| (leadership.leading, leadership.lost) = (None, Some((term, kill_at))));
    }

    /// All commands are to be killed now.
    pub(super) fn hurry(&mut self) {
        self.leadership.send_modify(|leadership| leadership.hurry = true);
    }

    /// Ends all guards, and with them whatever they run.
    pub(super) async fn shutdown(mut self) {
        self.hurry();
        while self.next_end().await.is_some() {}
        for guarded in self.waiting {
            guarded.shutdown().await;
        }
    }
}
