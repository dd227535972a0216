//! `tenure run`: a command that runs only while leading. `tenure lock` is the same with other ends.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use tenure::{
    Clock, Election, Event, EventKind, Events, Instant, Leader, LossReason, Problem, Tenure, Term, Timing, Trouble,
    Work as LeaderWork,
};

use super::lock::Wait;
use crate::args::{CandidateArgs, Global, ReportArgs, Restart, RunArgs};
use crate::exit::{Exit, Failure};
use crate::metrics;
use crate::options::{Candidacy, open_for};
use crate::output::{EventLines, json_line, sentence};
use crate::signals::{Asked, Signals, ends_without_command};
use crate::supervise::{Exit as CommandExit, Report, SpawnFailure, Supervisor, Trust, Work};
use crate::voice::{Voice, say};

pub(super) async fn execute(global: &Global, args: RunArgs) -> Result<Exit, Failure> {
    let RunArgs { name, candidate, restart, no_wait, report, command } = args;
    let purpose = Purpose::Lead { restart, no_wait };
    carry_out(global, &candidate, Plan { name, command, report, purpose }).await
}

/// What is to be run, and what for.
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) command: Vec<OsString>,
    pub(super) report: ReportArgs,
    pub(super) purpose: Purpose,
}

/// Why the command is run, and so when it is not run (again).
pub(super) enum Purpose {
    /// It runs whenever this candidate leads.
    Lead { restart: Restart, no_wait: bool },
    /// It runs once.
    Lock(Wait),
}

/// Runs a command while its candidate leads.
pub(super) async fn carry_out(global: &Global, candidate: &CandidateArgs, plan: Plan) -> Result<Exit, Failure> {
    let candidacy = Candidacy::new(candidate)?;
    let timing = candidacy.timing;
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&plan.report.metrics)?;
    let tenure = open_for(global, &plan.name)?;
    let supervisor = launch(&tenure)?;
    let election = candidacy.describe(&tenure, &plan.name)?.start()?;
    let mut events = election.events();
    let mut run = Run {
        lines: EventLines::new(&plan.name, election.candidate(), plan.report.renewals),
        plan,
        timing,
        tenure: &tenure,
        election: &election,
        supervisor,
        leading: None,
        work: None,
        overdue_at: None,
        end: None,
    };
    let exit = run.until_the_end(&mut events, &mut signals).await;
    run.supervisor.shutdown().await;
    exit
}

/// One `tenure run` or `tenure lock` from its first campaign to its end.
struct Run<'a> {
    lines: EventLines,
    plan: Plan,
    timing: Timing,
    tenure: &'a Tenure,
    election: &'a Election,
    supervisor: Supervisor,
    /// The term that leads, as far as was told, and the newest trust in it.
    leading: Option<(Term, Trust)>,
    /// Held while the command, or anything it left behind, is alive: the lease is not released before.
    work: Option<LeaderWork>,
    /// When a guard that has not reported the start of the command, or its end, is not waited for any more.
    overdue_at: Option<Instant>,
    /// Set when the end has begun.
    end: Option<Exit>,
}

impl Run<'_> {
    async fn until_the_end(&mut self, events: &mut Events, signals: &mut Signals) -> Result<Exit, Failure> {
        loop {
            let given_up_at = self.given_up_at();
            tokio::select! {
                event = events.next() => match event {
                    None => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) if event.kind == EventKind::Stopped => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) => self.heed(&event),
                },
                report = self.supervisor.next() => self.note(report).await?,
                asked = signals.next() => self.obey(asked),
                () = reach(self.overdue_at) => self.replace_the_guard(),
                () = reach(given_up_at) => self.give_up(),
            }
        }
    }

    /// The election says something.
    fn heed(&mut self, event: &Event) {
        self.tell(event);
        match &event.kind {
            EventKind::Elected { term, trust } => {
                self.leading = Some((*term, until(*trust)));
                self.start();
            }
            EventKind::Renewed { term, trust } => self.renewed(*term, until(*trust)),
            EventKind::Lost { kill_at, .. } => {
                self.leading = None;
                let kill_at = *kill_at;
                self.order(|supervisor| supervisor.terminate(kill_at));
                let patience = self.timing.reaction() / 4 * 3;
                self.overdue_at = self.work.as_ref().map(|_| kill_at.max(event.at) + patience);
            }
            EventKind::Observed { leader } => self.observed(leader.as_ref()),
            EventKind::Error { trouble: Trouble::Store(_) | Trouble::Problem(Problem::Regressed { .. }) }
                if self.work.is_none() =>
            {
                self.failed();
            }
            _ => {}
        }
    }

    /// Somebody else leads, or is about to.
    fn observed(&mut self, leader: Option<&Leader>) {
        match &mut self.plan.purpose {
            Purpose::Lead { no_wait: true, .. } if leader.is_some() => self.finish(Exit::NotElected),
            Purpose::Lead { .. } => {}
            Purpose::Lock(wait) => {
                wait.taken_by(leader);
                if wait.ends_with_an_answer() {
                    self.give_up();
                }
            }
        }
    }

    /// The store cannot be asked, and nothing runs.
    fn failed(&mut self) {
        match &mut self.plan.purpose {
            Purpose::Lead { no_wait: true, .. } => self.finish(Exit::StoreUnavailable),
            Purpose::Lead { .. } => {}
            Purpose::Lock(wait) => {
                wait.failed();
                if wait.ends_with_an_answer() {
                    self.give_up();
                }
            }
        }
    }

    /// When a lock is not waited for any more.
    fn given_up_at(&self) -> Option<Instant> {
        match &self.plan.purpose {
            Purpose::Lock(wait) if self.work.is_none() && self.end.is_none() => wait.until(),
            Purpose::Lock(_) | Purpose::Lead { .. } => None,
        }
    }

    fn give_up(&mut self) {
        let Purpose::Lock(wait) = &self.plan.purpose else { return };
        let (exit, why) = wait.verdict(self.election.name());
        if self.end.is_none() && !self.plan.report.json && !self.plan.report.quiet {
            say(&why);
        }
        self.finish(exit);
    }

    /// The guard says something.
    async fn note(&mut self, report: Report) -> Result<(), Failure> {
        match report {
            Report::Started { pid } => {
                tracing::info!(pid, "the command runs");
                if self.work_leads() {
                    self.overdue_at = None;
                }
            }
            Report::SpawnFailed { kind, message } => {
                if kind == SpawnFailure::TrustEnded {
                    self.go_on();
                    return Ok(());
                }
                self.work_is_over();
                say(&message);
                self.finish(kind.into());
            }
            Report::Ended(exit) => self.ended(exit),
            Report::Stopped(_) => self.interrupted(),
            Report::GuardDied => {
                let told = if self.work.is_some() { "; the command was ended with it" } else { "" };
                say(&format!("the guard process was killed{told}"));
                self.supervisor = launch(self.tenure)?;
                if self.work.is_some() { self.interrupted() } else { self.go_on() }
            }
        }
        Ok(())
    }

    fn obey(&mut self, asked: Asked) {
        match asked {
            Asked::End(signal) if self.end.is_none() => self.finish(Exit::Signalled(signal)),
            // Asked twice: no more patience with the command. The lease is still released in order.
            Asked::End(_) => self.order(|supervisor| supervisor.terminate(Instant::ZERO)),
            Asked::PassOn(signal) if self.work.is_none() && ends_without_command(signal) => {
                self.finish(Exit::Signalled(signal));
            }
            Asked::PassOn(signal) => self.order(|supervisor| supervisor.signal(signal)),
        }
    }

    fn renewed(&mut self, term: Term, trust: Trust) {
        self.leading = Some((term, trust));
        if self.work.as_ref().is_some_and(|work| work.leadership().term() == term) {
            self.order(|supervisor| supervisor.trust(trust));
        }
    }

    /// Starts the command if this candidate leads. While something of an earlier one is left it does not: the end of
    /// that will start it.
    fn start(&mut self) {
        if self.end.is_some() || self.work.is_some() {
            return;
        }
        let (Some((term, trust)), Some(leadership)) = (self.leading, self.election.leadership()) else { return };
        if leadership.term() != term {
            // The election is ahead of its events; the one that tells of this term will start the command.
            return;
        }
        let Some(work) = leadership.begin_work() else { return };
        let set = |name: &str, value: String| (OsString::from(name), OsString::from(value));
        let command = Work {
            program: self.plan.command[0].clone(),
            args: self.plan.command[1..].to_vec(),
            env_set: vec![
                set("TENURE_ELECTION", self.plan.name.clone()),
                set("TENURE_CANDIDATE", self.election.candidate().to_string()),
                set("TENURE_TERM", leadership.term().to_string()),
            ],
            // The address may carry a password, and the command has no business with the store.
            env_remove: vec![OsString::from("TENURE_STORE")],
            grace: self.timing.grace(),
            trust,
        };
        match self.supervisor.start(&command) {
            Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                drop(work);
                say(&format!("cannot run {:?}: {error}", self.plan.command[0]));
                self.finish(Exit::NotExecutable);
            }
            started => {
                self.work = Some(work);
                // A guard that was stopped does not even say that it cannot start the command.
                self.overdue_at = Some(trust.stop_at);
                if started.is_err() {
                    self.replace_the_guard();
                }
            }
        }
    }

    /// The command ended by itself, and all its descendants are dead.
    fn ended(&mut self, exit: CommandExit) {
        let again = match self.plan.purpose {
            Purpose::Lead { .. } if !self.work_leads() => return self.go_on(),
            // What ended under a term that is still trusted was protected to its end.
            Purpose::Lock(_) if !self.work_is_valid() => return self.interrupted(),
            Purpose::Lead { restart: Restart::No, .. } | Purpose::Lock(_) => false,
            Purpose::Lead { restart: Restart::OnFailure, .. } => exit != CommandExit::Code(0),
            Purpose::Lead { restart: Restart::Always, .. } => true,
        };
        self.work_is_over();
        if again {
            self.election.request_resign();
        } else {
            self.finish(Exit::Command(exit));
        }
    }

    /// The command was ended before it was done. Under a lock it is not started again: whoever asked for that has to know.
    fn interrupted(&mut self) {
        match self.plan.purpose {
            Purpose::Lead { .. } => self.go_on(),
            Purpose::Lock(_) => {
                self.work_is_over();
                if self.end.is_none() {
                    let name = &self.plan.name;
                    say(&format!(
                        "the lock {name} was lost and the command stopped before it was done; it is not started again"
                    ));
                }
                self.finish(Exit::LockLost);
            }
        }
    }

    /// Nothing runs, and the command is not done: campaigns on. This candidate may lead again already, or may still lead
    /// when a late extension of trust has cost it its command; it must not go on leading without one.
    fn go_on(&mut self) {
        let still_leads = self.work_leads();
        self.work_is_over();
        if still_leads {
            self.election.request_resign();
        } else {
            self.start();
        }
    }

    /// Whether the term that the command runs under still leads.
    fn work_leads(&self) -> bool {
        self.work.as_ref().is_some_and(|work| !work.leadership().is_cancelled())
    }

    /// Whether nobody else can lead yet, although this one may have lost.
    fn work_is_valid(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.leadership().is_valid())
    }

    fn work_is_over(&mut self) {
        self.work = None;
        self.overdue_at = None;
    }

    /// A guard that was stopped, or is dead, can neither start nor kill. Killed itself, it takes the command along, and its
    /// death is reported.
    fn replace_the_guard(&mut self) {
        self.overdue_at = None;
        say("the guard process does not answer; it is killed, and the command with it");
        if let Err(error) = self.supervisor.kill_guard() {
            tracing::error!(%error, "the guard cannot be killed");
        }
    }

    /// Begins the end; the first reason for it is the one that is told.
    fn finish(&mut self, exit: Exit) {
        self.end.get_or_insert(exit);
        self.election.request_stop();
    }

    /// An order that does not arrive endangers nobody: a guard that hears nothing ends the command in time.
    fn order(&mut self, order: impl FnOnce(&mut Supervisor) -> io::Result<()>) {
        if self.work.is_none() {
            return;
        }
        if let Err(error) = order(&mut self.supervisor) {
            tracing::warn!(%error, "the guard did not take an order");
        }
    }

    fn tell(&mut self, event: &Event) {
        let Plan { name, report: ReportArgs { json, quiet, .. }, .. } = &self.plan;
        if *json {
            if let Some(line) = self.lines.line(event) {
                // It never fails, and never waits for a reader.
                let _ = json_line(&mut Voice, &line);
            }
        } else if !quiet || matches!(event.kind, EventKind::Error { .. }) {
            let expected = matches!(event.kind, EventKind::Lost { reason: LossReason::Stopped, .. });
            if let Some(sentence) = sentence(name, event).filter(|_| !expected) {
                say(&sentence);
            }
        }
    }
}

/// Completes when the time has come; never without one.
async fn reach(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep(at.saturating_since(Clock::boottime().now())).await,
        None => std::future::pending().await,
    }
}

/// The very program that runs now, even when its file was replaced since.
fn launch(tenure: &Tenure) -> Result<Supervisor, Failure> {
    Supervisor::launch(Path::new("/proc/self/exe"), tenure.life_line())
        .map_err(|error| Failure::new(Exit::Internal, format!("cannot start the guard process: {error}")))
}

fn until(trust: tenure::Trust) -> Trust {
    Trust { stop_at: trust.stop_at, kill_at: trust.kill_at }
}
