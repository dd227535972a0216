//! The candidacy of `tenure cron`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use tenure::cron::{Job, JobRun, Jobs};
use tenure::{Candidacy, CandidacyState, Event, EventKind, Events};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::super::beginning::{Beginning, WhatNow};
use super::super::event_printer::EventPrinter;
use super::super::guarded::{env_for, until};
use super::guard_pool::GuardPool;
use super::source::crontab;
use crate::args::{CronRunArgs, Global};
use crate::crontab::{Crontab, CrontabEntry, CrontabErrors, JobCommand};
use crate::exit::{CommandError, Exit};
use crate::metrics;
use crate::options::{CandidacyOptions, Credentials, open_for};
use crate::signals::{SignalRequest, Signals};
use crate::stderr_writer::say;

/// A run that is to begin.
pub(super) struct RunRequest {
    pub(super) run: JobRun,
    pub(super) action: Arc<JobCommand>,
    /// Told when nothing of the run is left: how it ended.
    pub(super) done: oneshot::Sender<RunResult>,
}

/// How a run has ended: well, or why not.
pub(super) type RunResult = Result<(), String>;

pub(super) async fn execute(global: &Global, mut args: CronRunArgs) -> Result<Exit, CommandError> {
    let file = args.command.is_empty().then(|| args.target.clone()).flatten();
    let told_election = args.election.clone();
    let crontab = crontab(&mut args)?;
    let options = CandidacyOptions::new(&args.candidate)?;
    let timing = options.timing;
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&args.report.metrics)?;
    let client = open_for(global, &crontab.election)?;
    let (sender, asks) = unbounded_channel();
    let described = options.describe(&client, &crontab.election)?;
    let source = file.map(|file| JobSource { file, told_election, asks: sender.clone(), reading: None });
    let described = crontab.entries.into_iter().fold(described, |candidacy, entry| {
        let (job, handler) = job_of(entry, &sender);
        candidacy.job(job, handler)
    });
    let mut pool = GuardPool::launch(&client, timing, Credentials::new(global, &args.environment)?)?;
    let candidacy = described.start()?;
    pool.tell_of(env_for(&candidacy));
    let mut events = candidacy.events();
    let what_now = if args.candidate.fail_fast { WhatNow::FailsFast } else { WhatNow::GoesOn };
    let beginning = Beginning::new(global, what_now);
    let printer = EventPrinter::new(&crontab.election, candidacy.candidate(), args.report, beginning);
    let mut cron = CronSession { printer, candidacy: &candidacy, source, asks, pool, end: None };
    let exit = cron.until_the_end(&mut events, &mut signals).await;
    cron.pool.shutdown().await;
    exit
}

/// A job whose handler asks for its command to be run, and waits for the end of all of it. So a run goes on until nothing is
/// left of it, whatever ended it.
fn job_of(
    entry: CrontabEntry,
    asks: &UnboundedSender<RunRequest>,
) -> (Job, impl Fn(JobRun) -> RunResult + Send + Sync + 'static + use<>) {
    let (asks, action) = (asks.clone(), Arc::new(entry.action));
    let handler = move |run| -> RunResult {
        let (done, verdict) = oneshot::channel();
        let ended = || "was not run: tenure is about to end".to_owned();
        if let Err(SendError(ask)) = asks.send(RunRequest { run, action: Arc::clone(&action), done }) {
            ask.run.give_back();
            return Err(ended());
        }
        verdict.blocking_recv().unwrap_or_else(|_| Err(ended()))
    };
    (entry.job, handler)
}

/// Where the jobs come from, to look there again.
struct JobSource {
    file: OsString,
    /// What the command line says of the election.
    told_election: Option<String>,
    asks: UnboundedSender<RunRequest>,
    /// What is in the file, when it has been read.
    reading: Option<oneshot::Receiver<(Crontab, CrontabErrors)>>,
}

impl JobSource {
    /// Begins to read the file again, on a thread of its own: a file server may hang, and the lease must not wait for it.
    fn read(&mut self) -> Result<(), String> {
        if self.reading.is_some() {
            return Err(format!("{} is still being read", self.file.display()));
        }
        let (sender, reading) = oneshot::channel();
        let file = PathBuf::from(&self.file);
        // Nobody listens any more when the session has ended.
        let read = move || drop(sender.send(Crontab::read(&file)));
        thread::Builder::new().name("crontab".to_owned()).spawn(read).map_err(|error| error.to_string())?;
        self.reading = Some(reading);
        Ok(())
    }

    /// Takes over what was read. An error leaves everything as it is.
    fn take_over(&self, candidacy: &Candidacy, (crontab, errors): (Crontab, CrontabErrors)) -> Result<usize, String> {
        errors.check().map_err(|failure| failure.message)?;
        let named = self.told_election.as_ref().unwrap_or(&crontab.election);
        if named != candidacy.name().as_str() {
            let file = self.file.display();
            return Err(format!("{file} now names the election {named}; restart tenure to apply that"));
        }
        let count = crontab.entries.len();
        let jobs = crontab.entries.into_iter().fold(Jobs::new(), |jobs, entry| {
            let (job, handler) = job_of(entry, &self.asks);
            jobs.job(job, handler)
        });
        candidacy.set_jobs(jobs).map(|()| count).map_err(|error| error.to_string())
    }
}

/// Completes when the file has been read; never if it is not being read.
async fn was_read(source: &mut Option<JobSource>) -> (Crontab, CrontabErrors) {
    let Some(source) = source else { return std::future::pending().await };
    let Some(reading) = &mut source.reading else { return std::future::pending().await };
    let read = reading.await;
    source.reading = None;
    match read {
        Ok(read) => read,
        Err(_) => std::future::pending().await,
    }
}

/// Says what keeps the jobs from being changed, if anything does.
fn stays(outcome: Result<(), String>) {
    if let Err(why) = outcome {
        say(&format!("jobs not changed: {why}"));
    }
}

/// One `tenure cron` from its first campaign to its end.
struct CronSession<'a> {
    printer: EventPrinter,
    candidacy: &'a Candidacy,
    /// The file of jobs, if there is one.
    source: Option<JobSource>,
    asks: UnboundedReceiver<RunRequest>,
    pool: GuardPool,
    /// Set when the end has begun.
    end: Option<Exit>,
}

impl CronSession<'_> {
    async fn until_the_end(&mut self, events: &mut Events, signals: &mut Signals) -> Result<Exit, CommandError> {
        loop {
            tokio::select! {
                event = self.printer.beginning.next(events) => match event {
                    None => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) if event.kind == EventKind::Stopped => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) => self.on_event(&event),
                },
                Some(ask) = self.asks.recv() => self.pool.begin(ask),
                Some(ended) = self.pool.next_end() => ended?,
                read = was_read(&mut self.source) => self.take_over(read),
                asked = signals.end_or_hang_up() => match (asked, &mut self.source) {
                    (SignalRequest::PassOn(_), Some(source)) if self.end.is_none() => stays(source.read()),
                    (SignalRequest::End(signal) | SignalRequest::PassOn(signal), _) => self.on_signal(signal),
                },
            }
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.printer.tell(event);
        if self.printer.beginning.gives_up() {
            self.end.get_or_insert(Exit::StoreUnavailable);
            self.candidacy.request_stop();
        }
        match &event.kind {
            EventKind::Elected { term, trust, .. } | EventKind::Renewed { term, trust } => {
                self.pool.trust(*term, until(*trust));
            }
            EventKind::Lost { term, kill_at, .. } => {
                self.pool.lost(*term, *kill_at);
            }
            _ => {}
        }
        self.inform_guards();
    }

    /// Tells the guards of the lease. While runs stop, or the lease is being released, it is still that of the lost term.
    fn inform_guards(&mut self) {
        match self.candidacy.state() {
            CandidacyState::Leading { .. } => {
                if let Some(leadership) = self.candidacy.leadership() {
                    self.pool.holds(Some(leadership));
                }
            }
            CandidacyState::Draining { .. } => {}
            _ => self.pool.holds(None),
        }
    }

    fn take_over(&self, read: (Crontab, CrontabErrors)) {
        let Some(source) = &self.source else { return };
        stays(source.take_over(self.candidacy, read).map(|count| {
            say(&format!("reloaded {}: {count} job(s)", source.file.display()));
        }));
    }

    fn on_signal(&mut self, signal: i32) {
        if self.end.is_some() {
            // Asked twice: no more patience with the commands. The lease is still released in order.
            self.pool.hurry();
        }
        self.end.get_or_insert(Exit::Signalled(signal));
        self.candidacy.request_stop();
    }
}
