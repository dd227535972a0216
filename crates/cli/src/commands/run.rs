//! `tenure run`: a command that runs only while leading. `tenure lock` is the same with other ends.

use std::ffi::OsString;
use std::time::Duration;

use tenure::{
    Anomaly, Candidacy, CandidacyState, Clock, ElectionError, Event, EventKind, Events, Instant, Leader, Term,
};

use super::beginning::{Beginning, WhatNow};
use super::event_printer::EventPrinter;
use super::guarded::{CommandUpdate, Guarded, Program, Stdin, env_for, reach, until};
use super::lock::LockPurpose;
use super::restart_delay::RestartDelay;
use crate::args::{CandidateArgs, EnvironmentArgs, Global, ReportArgs, Restart, RunArgs};
use crate::exit::{CommandError, Exit};
use crate::metrics;
use crate::options::{CandidacyOptions, Credentials, open_for};
use crate::output::CommandEnd;
use crate::signals::{SignalRequest, Signals, ends_without_command};
use crate::stderr_writer::say;
use crate::supervise::{CommandExit, SpawnFailure, TrustDeadlines};

/// How long leaving may take when nothing was granted as far as is known, and nobody wants to wait any longer. A store that
/// answers needs far less. With one that does not, a grant may still be on its way: nobody uses it, and it runs out by itself.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

pub(super) async fn execute(global: &Global, args: RunArgs) -> Result<Exit, CommandError> {
    let RunArgs { name, candidate, restart, no_wait, report, environment, command } = args;
    let purpose = RunPurpose::Lead { restart, no_wait };
    carry_out(global, &candidate, RunPlan { name, command, report, environment, purpose }).await
}

/// What is to be run, and what for.
pub(super) struct RunPlan {
    pub(super) name: String,
    pub(super) command: Vec<OsString>,
    pub(super) report: ReportArgs,
    pub(super) environment: EnvironmentArgs,
    pub(super) purpose: RunPurpose,
}

/// Why the command is run, and so when it is not run (again).
pub(super) enum RunPurpose {
    /// It runs whenever this candidate leads.
    Lead { restart: Restart, no_wait: bool },
    /// It runs once.
    Lock(LockPurpose),
}

impl RunPurpose {
    /// Whether the first answer of the store ends it, unless that is a grant.
    fn only_asks(&self) -> bool {
        match self {
            Self::Lead { no_wait, .. } => *no_wait,
            Self::Lock(lock) => lock.asks_once(),
        }
    }

    /// What becomes of it when the store cannot be used at the start.
    fn without_a_store(&self, fail_fast: bool) -> WhatNow {
        match (fail_fast, self.only_asks()) {
            (true, _) => WhatNow::FailsFast,
            (false, true) => WhatNow::Ends,
            (false, false) => WhatNow::GoesOn,
        }
    }
}

/// Runs a command while its candidate leads.
pub(super) async fn carry_out(global: &Global, candidate: &CandidateArgs, plan: RunPlan) -> Result<Exit, CommandError> {
    let options = CandidacyOptions::new(candidate)?;
    let timing = options.timing;
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&plan.report.metrics)?;
    let client = open_for(global, &plan.name)?;
    let beginning = Beginning::new(global, plan.purpose.without_a_store(candidate.fail_fast));
    let credentials = Credentials::new(global, &plan.environment)?;
    let guarded = Guarded::launch(&client, Stdin::Own, timing, credentials)?;
    let described = options.describe(&client, &plan.name)?;
    let described = match &plan.purpose {
        RunPurpose::Lead { .. } => described,
        RunPurpose::Lock(lock) if lock.asks_once() => described.as_lock().without_standing_by(),
        RunPurpose::Lock(_) => described.as_lock(),
    };
    let candidacy = described.start()?;
    let mut events = candidacy.events();
    let mut run = RunSession {
        printer: EventPrinter::new(&plan.name, candidacy.candidate(), plan.report.clone(), beginning),
        plan,
        candidacy: &candidacy,
        guarded,
        leading: None,
        missed: false,
        began_at: Clock::boottime().now(),
        restart_delay: RestartDelay::default(),
        rests_until: None,
        end: None,
        gone_by: None,
    };
    let exit = run.until_the_end(&mut events, &mut signals).await;
    run.guarded.shutdown().await;
    exit
}

/// One `tenure run` or `tenure lock` from its first campaign to its end.
struct RunSession<'a> {
    printer: EventPrinter,
    plan: RunPlan,
    candidacy: &'a Candidacy,
    guarded: Guarded,
    /// The term that leads, as far as was told, and the newest trust in it.
    leading: Option<(Term, TrustDeadlines)>,
    /// Events were lost since the last renewal.
    missed: bool,
    /// When the command, if there is one, began.
    began_at: Instant,
    restart_delay: RestartDelay,
    /// Until when the command is left alone after its last end, even if this candidate leads.
    rests_until: Option<Instant>,
    /// Set when the end has begun.
    end: Option<Exit>,
    /// When leaving is not waited for any longer, if nothing is held.
    gone_by: Option<Instant>,
}

impl RunSession<'_> {
    async fn until_the_end(&mut self, events: &mut Events, signals: &mut Signals) -> Result<Exit, CommandError> {
        loop {
            let (given_up_at, rests_until, gone_by) = (self.given_up_at(), self.rests_until, self.gone_by());
            tokio::select! {
                event = self.printer.beginning.next(events) => match event {
                    None => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) if event.kind == EventKind::Stopped => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) => self.on_event(&event),
                },
                job_event = self.guarded.next() => self.note(job_event?),
                asked = signals.next() => self.on_signal(asked),
                () = reach(given_up_at) => self.give_up(),
                () = reach(gone_by) => return Ok(self.end.unwrap_or(Exit::Internal)),
                () = reach(rests_until) => {
                    self.rests_until = None;
                    self.start();
                }
            }
            self.inform_guard();
        }
    }

    /// Tells the guard of the lease. While work stops, or the lease is being released, it is still that of the lost term.
    fn inform_guard(&mut self) {
        match self.candidacy.state() {
            CandidacyState::Leading { .. } => {
                if let Some(leadership) = self.candidacy.leadership() {
                    self.guarded.holds(Some(&leadership));
                }
            }
            CandidacyState::Draining { .. } => {}
            _ if self.guarded.is_busy() => {}
            _ => self.guarded.holds(None),
        }
    }

    /// The election says something.
    fn on_event(&mut self, event: &Event) {
        // People are told by the verdict who leads: a candidate that only asks does not stand by.
        let is_verdict = self.plan.purpose.only_asks() && matches!(event.kind, EventKind::Observed { .. });
        if !is_verdict || self.printer.is_json() {
            self.printer.tell(event);
        }
        if self.printer.beginning.gives_up() {
            self.leave_soon(Exit::StoreUnavailable);
        }
        match &event.kind {
            EventKind::Elected { term, trust, .. } => {
                self.leading = Some((*term, until(*trust)));
                self.start();
            }
            EventKind::Renewed { term, trust } => {
                self.renewed(*term, until(*trust));
                if std::mem::take(&mut self.missed) {
                    self.start();
                }
            }
            // Among what was missed may be the beginning of this leadership: the next renewal makes up for it.
            EventKind::Missed { .. } => self.missed = true,
            EventKind::Lost { kill_at, .. } => {
                self.leading = None;
                self.guarded.terminate(*kill_at);
            }
            EventKind::Observed { .. } => self.not_granted(&event.kind),
            EventKind::Error { error: ElectionError::Store(_) | ElectionError::Anomaly(Anomaly::Regressed { .. }) }
                if !self.guarded.is_busy() =>
            {
                self.not_granted(&event.kind);
            }
            _ => {}
        }
    }

    /// Somebody else leads or is about to, or the store cannot be asked and nothing runs.
    fn not_granted(&mut self, event: &EventKind) {
        match (&mut self.plan.purpose, event) {
            (
                RunPurpose::Lead { no_wait: true, .. },
                EventKind::Observed { leader: Some(Leader { candidate, term, .. }) },
            ) => {
                let name = self.candidacy.name();
                self.printer
                    .explain(&format!("{candidate} leads {name}, term {term}; leave out --no-wait to stand by"));
                self.leave_soon(Exit::NotElected);
            }
            (RunPurpose::Lead { no_wait: true, .. }, EventKind::Error { .. }) => {
                self.leave_soon(Exit::StoreUnavailable);
            }
            (RunPurpose::Lead { .. }, _) => {}
            (RunPurpose::Lock(lock), _) => {
                if lock.note(event) {
                    self.give_up();
                }
            }
        }
    }

    /// When to stop waiting for a lock.
    fn given_up_at(&self) -> Option<Instant> {
        match &self.plan.purpose {
            RunPurpose::Lock(lock) if !self.guarded.is_busy() && self.end.is_none() => lock.until(),
            RunPurpose::Lock(_) | RunPurpose::Lead { .. } => None,
        }
    }

    /// When this process goes without having left in order. What is held is given back, however long that takes.
    fn gone_by(&self) -> Option<Instant> {
        self.gone_by.filter(|_| self.leading.is_none() && !self.guarded.is_busy())
    }

    /// Nobody wants to wait any longer.
    fn leave_soon(&mut self, exit: Exit) {
        self.gone_by.get_or_insert(Clock::boottime().now() + LEAVE_WITHIN);
        self.finish(exit);
    }

    fn give_up(&mut self) {
        let RunPurpose::Lock(lock) = &self.plan.purpose else { return };
        let (exit, why) = lock.verdict(self.candidacy.name());
        if self.end.is_none() {
            self.printer.explain(&why);
        }
        self.leave_soon(exit);
    }

    /// The guard says something.
    fn note(&mut self, job_event: CommandUpdate) {
        match job_event {
            CommandUpdate::Starting => {}
            CommandUpdate::Started => self.began_at = Clock::boottime().now(),
            CommandUpdate::TooLate => self.go_on(),
            CommandUpdate::Failed(kind, message) => {
                self.guarded.is_over();
                if kind != SpawnFailure::NoResources {
                    say(&message);
                    return self.finish(kind.into());
                }
                say(&format!(
                    "{message}; raise the limit with `ulimit -u`, or TasksMax= of systemd, or end other processes"
                ));
                self.lacks_resources();
            }
            CommandUpdate::Ended(exit) => self.ended(exit),
            CommandUpdate::Cut if self.guarded.is_busy() => self.interrupted(),
            CommandUpdate::Cut => self.go_on(),
            CommandUpdate::Stuck => self.finish(Exit::Failure),
        }
    }

    /// The command could not be started for now. If it is to be restarted, that is tried again, by a stand-by first.
    fn lacks_resources(&mut self) {
        match self.plan.purpose {
            RunPurpose::Lead { restart: Restart::Always | Restart::OnFailure, .. } => {
                self.rests_until = Some(Clock::boottime().now() + self.restart_delay.after(Duration::ZERO));
                self.candidacy.request_resign();
            }
            RunPurpose::Lead { restart: Restart::No, .. } | RunPurpose::Lock(_) => self.finish(Exit::NoResources),
        }
    }

    fn on_signal(&mut self, asked: SignalRequest) {
        match asked {
            SignalRequest::End(signal) if self.end.is_none() => self.finish(Exit::Signalled(signal)),
            // Asked twice: no more patience with the command. The lease is still released in order.
            SignalRequest::End(_) => self.guarded.hurry(Instant::ZERO),
            SignalRequest::PassOn(signal) if !self.guarded.is_busy() && ends_without_command(signal) => {
                self.finish(Exit::Signalled(signal));
            }
            SignalRequest::PassOn(signal) => self.guarded.signal(signal),
        }
    }

    fn renewed(&mut self, term: Term, trust: TrustDeadlines) {
        self.leading = Some((term, trust));
        self.guarded.trust(term, trust);
    }

    /// Starts the command if this candidate leads. While something of an earlier one is left, or while it is left alone, it
    /// does not: the end of that will start it.
    fn start(&mut self) {
        if self.end.is_some() || self.guarded.is_busy() || self.rests_until.is_some() {
            return;
        }
        let (Some((term, trust)), Some(leadership)) = (self.leading, self.candidacy.leadership()) else { return };
        if leadership.term() != term {
            // The election is ahead of its events; the one that tells of this term will start the command.
            return;
        }
        let Some(work) = leadership.begin_work() else { return };
        let program = Program { command: &self.plan.command, env: env_for(self.candidacy), directory: None };
        if let Err(error) = self.guarded.start(program, work, trust) {
            say(&format!("cannot run {:?}: {error}", self.plan.command[0]));
            self.finish(Exit::NotExecutable);
        }
    }

    /// The command ended by itself, and all its descendants are dead.
    fn ended(&mut self, exit: CommandExit) {
        let again = match self.plan.purpose {
            RunPurpose::Lead { .. } if !self.guarded.leads() => return self.go_on(),
            // What ended under a term that is still trusted was protected to its end.
            RunPurpose::Lock(_) if !self.guarded.is_valid() => return self.interrupted(),
            RunPurpose::Lead { restart: Restart::No, .. } | RunPurpose::Lock(_) => false,
            RunPurpose::Lead { restart: Restart::OnFailure, .. } => exit != CommandExit::Code(0),
            RunPurpose::Lead { restart: Restart::Always, .. } => true,
        };
        let now = Clock::boottime().now();
        let took = now.saturating_since(self.began_at);
        let restart_in = again.then(|| self.restart_delay.after(took));
        if let Some(term) = self.guarded.term() {
            self.printer.exited(term, &CommandEnd { exit, took, restart_in });
        }
        self.rests_until = restart_in.map(|wait| now + wait);
        self.guarded.is_over();
        if again {
            // Somebody who stands by goes first, and need not wait.
            self.candidacy.request_resign();
        } else {
            self.finish(Exit::Command(exit));
        }
    }

    /// The command was ended before it was done. Under a lock it is not started again: whoever asked for that has to know.
    fn interrupted(&mut self) {
        match self.plan.purpose {
            RunPurpose::Lead { .. } => self.go_on(),
            RunPurpose::Lock(_) => {
                self.guarded.is_over();
                if self.end.is_none() {
                    let name = &self.plan.name;
                    say(&format!(
                        "lost the lock {name} and stopped the command before it was done; not starting it again"
                    ));
                }
                self.finish(Exit::LockLost);
            }
        }
    }

    /// Nothing runs, and the command is not done: campaigns on. This candidate may lead again already, or may still lead
    /// when a late extension of trust has cost it its command; it must not go on leading without one.
    fn go_on(&mut self) {
        let still_leads = self.guarded.leads();
        self.guarded.is_over();
        if still_leads {
            self.candidacy.request_resign();
        } else {
            self.start();
        }
    }

    /// Begins the end; the first reason for it is the one that is told.
    fn finish(&mut self, exit: Exit) {
        self.end.get_or_insert(exit);
        self.candidacy.request_stop();
    }
}
