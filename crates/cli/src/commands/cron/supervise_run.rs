//! One run of a command: from its start to the end of all its processes.

use std::ffi::OsString;
use std::time::Duration;

use tenure::cron::JobRun;
use tenure::{Clock, Instant};
use tokio::sync::watch;

use super::super::guarded::{CommandUpdate, Guarded, Program};
use super::guard_pool::SharedLeadership;
use super::run::{RunRequest, RunResult};
use crate::crontab::JobCommand;
use crate::exit::{CommandError, Exit};
use crate::job::shown;
use crate::supervise::{CommandExit, TrustDeadlines};

/// A guard that died while it waited is replaced, and so is the next; then something is wrong.
const MAX_STARTS: u32 = 3;

/// Sees a run through, and gives the guard back.
///
/// # Errors
/// When the guard died and there cannot be another.
pub(super) async fn supervise_run(
    guarded: Guarded,
    grace: Duration,
    ask: RunRequest,
    told: Vec<(OsString, OsString)>,
    leadership: watch::Receiver<SharedLeadership>,
) -> Result<Guarded, CommandError> {
    let RunRequest { run, action, done } = ask;
    let mut supervisor = RunSupervisor { guarded, grace, run, told, leadership, starts: 0 };
    let verdict = supervisor.see_through(&action).await?;
    let RunSupervisor { mut guarded, run, .. } = supervisor;
    guarded.is_over();
    drop(run);
    // Whoever asked is gone only if all is about to end.
    let _ = done.send(verdict);
    Ok(guarded)
}

struct RunSupervisor {
    guarded: Guarded,
    grace: Duration,
    run: JobRun,
    told: Vec<(OsString, OsString)>,
    leadership: watch::Receiver<SharedLeadership>,
    starts: u32,
}

impl RunSupervisor {
    async fn see_through(&mut self, action: &JobCommand) -> Result<RunResult, CommandError> {
        let Some(trust) = self.trust().await else { return Ok(self.too_late()) };
        if let Err(verdict) = self.start(action, trust) {
            return Ok(Err(verdict));
        }
        let run = self.run.clone();
        let (mut began, mut stopping) = (false, false);
        loop {
            tokio::select! {
                update = self.guarded.next() => match update? {
                    CommandUpdate::Starting | CommandUpdate::Started => began = true,
                    CommandUpdate::TooLate => return Ok(self.too_late()),
                    CommandUpdate::Failed(_, message) => return Ok(Err(message)),
                    CommandUpdate::Ended(exit) => return Ok(verdict(exit)),
                    CommandUpdate::Cut if began || self.starts >= MAX_STARTS => return Ok(cut()),
                    // A guard that died before it was about to start the command has begun nothing.
                    CommandUpdate::Cut if stopping => return Ok(self.too_late()),
                    CommandUpdate::Stuck => {
                        // The lease has to run out: whoever leads next must not meet what is left.
                        let message = "a command could not be stopped; see above".to_owned();
                        self.guarded.leave();
                        return Err(CommandError::new(Exit::Failure, message));
                    }
                    CommandUpdate::Cut => {
                        self.guarded.is_over();
                        let Some(trust) = self.trust().await else { return Ok(self.too_late()) };
                        if let Err(verdict) = self.start(action, trust) {
                            return Ok(Err(verdict));
                        }
                    }
                },
                changed = self.leadership.changed() => match changed {
                    Ok(()) => stopping |= self.on_change(),
                    // There is nobody left who could tell.
                    Err(_) => self.guarded.hurry(Instant::ZERO),
                },
                () = run.cancelled(), if !stopping => {
                    stopping = true;
                    self.stop();
                }
            }
        }
    }

    /// The trust in the run's term, as soon as it is known; `None` when it is over.
    async fn trust(&mut self) -> Option<TrustDeadlines> {
        let term = self.run.term();
        let Self { run, leadership, .. } = self;
        tokio::select! {
            known = leadership.wait_for(|known| known.hurry || known.trust_in(term).is_some()) => known.ok()?.trust_in(term),
            () = run.cancelled() => None,
        }
    }

    fn start(&mut self, action: &JobCommand, trust: TrustDeadlines) -> Result<(), String> {
        self.starts += 1;
        let Some(work) = self.run.leadership().begin_work() else { return self.too_late() };
        let set = |name: &str, value: String| (OsString::from(name), OsString::from(value));
        let own = [
            set("TENURE_JOB", self.run.job().to_string()),
            set("TENURE_TICK", shown(self.run.tick())),
            set("TENURE_RETRY", self.run.retries().to_string()),
        ];
        // What tenure tells comes last: nothing else overrides it.
        let env = action.env.iter().chain(&self.told).chain(&own).cloned().collect();
        let program = Program { command: &action.command, env, directory: action.directory.clone() };
        self.guarded.start(program, work, trust).map_err(|error| format!("cannot be run: {error}"))
    }

    /// Nothing of the command has been started, so a later leader may run the tick.
    fn too_late(&self) -> RunResult {
        self.run.give_back();
        Err("the leadership ended before the command could start".to_owned())
    }

    /// The leadership has changed. Returns whether the command has to stop because of it.
    fn on_change(&mut self) -> bool {
        let (leadership, term) = (*self.leadership.borrow_and_update(), self.run.term());
        if let Some(trust) = leadership.trust_in(term) {
            self.guarded.trust(term, trust);
        }
        if leadership.hurry {
            self.guarded.hurry(Instant::ZERO);
        }
        let kill_at = leadership.kill_at(term);
        if let Some(kill_at) = kill_at {
            self.guarded.terminate(kill_at);
        }
        kill_at.is_some() || leadership.hurry
    }

    /// The run has to stop. If it is because of the leadership, the news of that says until when; trust goes on otherwise.
    fn stop(&mut self) {
        if !self.run.leadership().is_cancelled() {
            self.guarded.terminate(Clock::boottime().now() + self.grace);
        }
    }
}

fn verdict(exit: CommandExit) -> RunResult {
    match exit {
        CommandExit::Code(0) => Ok(()),
        CommandExit::Code(code) => Err(format!("exit code {code}")),
        CommandExit::Signal(signal) => Err(format!("killed by signal {signal}")),
    }
}

fn cut() -> RunResult {
    Err("the command was stopped before it was done".to_owned())
}
