//! One run of a command: from its start to the end of all its processes.

use std::ffi::OsString;
use std::time::Duration;

use tenure::cron::JobRun;
use tenure::{Clock, Instant};
use tokio::sync::watch;

use super::super::guarded::{Guarded, News, Program};
use super::crew::Standing;
use super::run::{Ask, Verdict};
use crate::crontab::Action;
use crate::exit::{Exit, Failure};
use crate::job::shown;
use crate::supervise::{Exit as CommandExit, Trust};

/// A guard that died while it waited is replaced, and so is the next; then something is wrong.
const STARTS_MAX: u32 = 3;

/// Sees a run through, and gives the guard back.
///
/// # Errors
/// When the guard died and there cannot be another.
pub(super) async fn attend(
    guarded: Guarded,
    grace: Duration,
    ask: Ask,
    told: Vec<(OsString, OsString)>,
    standing: watch::Receiver<Standing>,
) -> Result<Guarded, Failure> {
    let Ask { run, action, done } = ask;
    let mut attendant = Attendant { guarded, grace, run, told, standing, starts: 0 };
    let verdict = attendant.see_through(&action).await?;
    let Attendant { mut guarded, run, .. } = attendant;
    guarded.is_over();
    drop(run);
    // Whoever asked is gone only if all is about to end.
    let _ = done.send(verdict);
    Ok(guarded)
}

struct Attendant {
    guarded: Guarded,
    grace: Duration,
    run: JobRun,
    told: Vec<(OsString, OsString)>,
    standing: watch::Receiver<Standing>,
    starts: u32,
}

impl Attendant {
    async fn see_through(&mut self, action: &Action) -> Result<Verdict, Failure> {
        let Some(trust) = self.trust().await else { return Ok(self.too_late()) };
        if let Err(verdict) = self.start(action, trust) {
            return Ok(Err(verdict));
        }
        let run = self.run.clone();
        let (mut began, mut stopping) = (false, false);
        loop {
            tokio::select! {
                news = self.guarded.next() => match news? {
                    News::Starting | News::Started => began = true,
                    News::TooLate => return Ok(self.too_late()),
                    News::Failed(_, message) => return Ok(Err(message)),
                    News::Ended(exit) => return Ok(verdict(exit)),
                    News::Cut if began || self.starts >= STARTS_MAX => return Ok(cut()),
                    // A guard that died before it was about to start the command has begun nothing.
                    News::Cut if stopping => return Ok(self.too_late()),
                    News::Stuck => {
                        // The lease has to run out: whoever leads next must not meet what is left.
                        let message = "a command cannot be ended; see above".to_owned();
                        self.guarded.leave();
                        return Err(Failure::new(Exit::Failure, message));
                    }
                    News::Cut => {
                        self.guarded.is_over();
                        let Some(trust) = self.trust().await else { return Ok(self.too_late()) };
                        if let Err(verdict) = self.start(action, trust) {
                            return Ok(Err(verdict));
                        }
                    }
                },
                changed = self.standing.changed() => match changed {
                    Ok(()) => stopping |= self.heed(),
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
    async fn trust(&mut self) -> Option<Trust> {
        let term = self.run.term();
        let Self { run, standing, .. } = self;
        tokio::select! {
            known = standing.wait_for(|known| known.hurry || known.trust_in(term).is_some()) => known.ok()?.trust_in(term),
            () = run.cancelled() => None,
        }
    }

    fn start(&mut self, action: &Action, trust: Trust) -> Result<(), String> {
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
    fn too_late(&self) -> Verdict {
        self.run.give_back();
        Err("the leadership ended before it could be started".to_owned())
    }

    /// The leadership has changed. Returns whether the command has to stop because of it.
    fn heed(&mut self) -> bool {
        let (standing, term) = (*self.standing.borrow_and_update(), self.run.term());
        if let Some(trust) = standing.trust_in(term) {
            self.guarded.trust(term, trust);
        }
        if standing.hurry {
            self.guarded.hurry(Instant::ZERO);
        }
        let kill_at = standing.kill_at(term);
        if let Some(kill_at) = kill_at {
            self.guarded.terminate(kill_at);
        }
        kill_at.is_some() || standing.hurry
    }

    /// The run has to stop. If it is because of the leadership, the news of that says until when; trust goes on otherwise.
    fn stop(&mut self) {
        if !self.run.leadership().is_cancelled() {
            self.guarded.terminate(Clock::boottime().now() + self.grace);
        }
    }
}

fn verdict(exit: CommandExit) -> Verdict {
    match exit {
        CommandExit::Code(0) => Ok(()),
        CommandExit::Code(code) => Err(format!("exit code {code}")),
        CommandExit::Signal(signal) => Err(format!("killed by signal {signal}")),
    }
}

fn cut() -> Verdict {
    Err("it was stopped before it was done".to_owned())
}
