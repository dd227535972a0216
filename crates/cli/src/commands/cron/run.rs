//! The candidacy of `tenure cron`.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use tenure::cron::{Job, JobRun, Jobs};
use tenure::{Election, Event, EventKind, Events};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::super::guarded::{told_of, until};
use super::super::teller::Teller;
use super::crew::Crew;
use super::source::crontab;
use crate::args::{CronRunArgs, Global};
use crate::crontab::{Action, Crontab, Entry};
use crate::exit::{Exit, Failure};
use crate::metrics;
use crate::options::{Candidacy, credentials, open_for};
use crate::signals::{Asked, Signals};
use crate::voice::say;

/// A run that is to begin.
pub(super) struct Ask {
    pub(super) run: JobRun,
    pub(super) action: Arc<Action>,
    /// Told when nothing of the run is left: how it ended.
    pub(super) done: oneshot::Sender<Verdict>,
}

/// How a run has ended: well, or why not.
pub(super) type Verdict = Result<(), String>;

pub(super) async fn execute(global: &Global, mut args: CronRunArgs) -> Result<Exit, Failure> {
    let file = args.command.is_empty().then(|| args.target.clone()).flatten();
    let told_election = args.election.clone();
    let crontab = crontab(&mut args)?;
    let candidacy = Candidacy::new(&args.candidate)?;
    let timing = candidacy.timing;
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&args.report.metrics)?;
    let tenure = open_for(global, &crontab.election)?;
    let (sender, asks) = unbounded_channel();
    let described = candidacy.describe(&tenure, &crontab.election)?;
    let source = file.map(|file| Source { file, told_election, asks: sender.clone() });
    let described = crontab.entries.into_iter().fold(described, |election, entry| {
        let (job, handler) = job_of(entry, &sender);
        election.job(job, handler)
    });
    let mut crew = Crew::launch(&tenure, timing, credentials(global, &args.environment))?;
    let election = described.start()?;
    crew.tell_of(told_of(&election));
    let mut events = election.events();
    let teller = Teller::new(&crontab.election, election.candidate(), args.report);
    let mut cron = Cron { teller, election: &election, source, asks, crew, end: None };
    let exit = cron.until_the_end(&mut events, &mut signals).await;
    cron.crew.shutdown().await;
    exit
}

/// A job whose handler asks for its command to be run, and waits for the end of all of it. So a run goes on until nothing is
/// left of it, whatever ended it.
fn job_of(
    entry: Entry,
    asks: &UnboundedSender<Ask>,
) -> (Job, impl Fn(JobRun) -> Verdict + Send + Sync + 'static + use<>) {
    let (asks, action) = (asks.clone(), Arc::new(entry.action));
    let handler = move |run| -> Verdict {
        let (done, verdict) = oneshot::channel();
        let ended = || "was not run: tenure is about to end".to_owned();
        if let Err(SendError(ask)) = asks.send(Ask { run, action: Arc::clone(&action), done }) {
            ask.run.give_back();
            return Err(ended());
        }
        verdict.blocking_recv().unwrap_or_else(|_| Err(ended()))
    };
    (entry.job, handler)
}

/// Where the jobs come from, to look there again.
struct Source {
    file: OsString,
    /// What the command line says of the election.
    told_election: Option<String>,
    asks: UnboundedSender<Ask>,
}

impl Source {
    /// Reads the file again. An error leaves everything as it is.
    fn reload(&self, election: &Election) -> Result<usize, String> {
        let (crontab, problems) = Crontab::read(Path::new(&self.file));
        problems.check().map_err(|failure| failure.message)?;
        let named = self.told_election.as_ref().unwrap_or(&crontab.election);
        if named != election.name().as_str() {
            let file = self.file.display();
            return Err(format!(
                "{file} names the election {named} now; stop tenure and start it again to change that"
            ));
        }
        let count = crontab.entries.len();
        let jobs = crontab.entries.into_iter().fold(Jobs::new(), |jobs, entry| {
            let (job, handler) = job_of(entry, &self.asks);
            jobs.job(job, handler)
        });
        election.set_jobs(jobs).map(|()| count).map_err(|error| error.to_string())
    }
}

/// One `tenure cron` from its first campaign to its end.
struct Cron<'a> {
    teller: Teller,
    election: &'a Election,
    /// The file of jobs, if there is one.
    source: Option<Source>,
    asks: UnboundedReceiver<Ask>,
    crew: Crew,
    /// Set when the end has begun.
    end: Option<Exit>,
}

impl Cron<'_> {
    async fn until_the_end(&mut self, events: &mut Events, signals: &mut Signals) -> Result<Exit, Failure> {
        loop {
            tokio::select! {
                event = events.next() => match event {
                    None => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) if event.kind == EventKind::Stopped => return Ok(self.end.unwrap_or(Exit::Internal)),
                    Some(event) => self.heed(&event),
                },
                Some(ask) = self.asks.recv() => self.crew.begin(ask),
                Some(ended) = self.crew.next_end() => ended?,
                asked = signals.end_or_hang_up() => match (asked, &self.source) {
                    (Asked::PassOn(_), Some(source)) if self.end.is_none() => self.reload(source),
                    (Asked::End(signal) | Asked::PassOn(signal), _) => self.obey(signal),
                },
            }
        }
    }

    fn heed(&mut self, event: &Event) {
        self.teller.tell(event);
        match &event.kind {
            EventKind::Elected { term, trust } | EventKind::Renewed { term, trust } => {
                self.crew.trust(*term, until(*trust));
            }
            EventKind::Lost { term, kill_at, .. } => self.crew.lost(*term, *kill_at),
            _ => {}
        }
    }

    fn reload(&self, source: &Source) {
        match source.reload(self.election) {
            Ok(count) => say(&format!("{} was read again: {count} job(s)", source.file.display())),
            Err(why) => say(&format!("the jobs stay as they are: {why}")),
        }
    }

    fn obey(&mut self, signal: i32) {
        if self.end.is_some() {
            // Asked twice: no more patience with the commands. The lease is still released in order.
            self.crew.hurry();
        }
        self.end.get_or_insert(Exit::Signalled(signal));
        self.election.request_stop();
    }
}
