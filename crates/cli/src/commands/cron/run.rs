//! The candidacy of `tenure cron`.

use std::sync::Arc;

use tenure::cron::JobRun;
use tenure::{Election, ElectionBuilder, Event, EventKind, Events};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::super::guarded::{told_of, until};
use super::super::teller::Teller;
use super::crew::Crew;
use super::source::crontab;
use crate::args::{CronRunArgs, Global};
use crate::crontab::{Action, Entry};
use crate::exit::{Exit, Failure};
use crate::metrics;
use crate::options::{Candidacy, credentials, open_for};
use crate::signals::Signals;

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
    let crontab = crontab(&mut args)?;
    let candidacy = Candidacy::new(&args.candidate)?;
    let timing = candidacy.timing;
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&args.report.metrics)?;
    let tenure = open_for(global, &crontab.election)?;
    let (sender, asks) = unbounded_channel();
    let described = candidacy.describe(&tenure, &crontab.election)?;
    let described = crontab.entries.into_iter().fold(described, |election, entry| with_job(election, entry, &sender));
    let mut crew = Crew::launch(&tenure, timing, credentials(global, &args.environment))?;
    let election = described.start()?;
    crew.tell_of(told_of(&election));
    let mut events = election.events();
    let teller = Teller::new(&crontab.election, election.candidate(), args.report);
    let mut cron = Cron { teller, election: &election, asks, crew, end: None };
    let exit = cron.until_the_end(&mut events, &mut signals).await;
    cron.crew.shutdown().await;
    exit
}

/// Adds a job whose handler asks for its command to be run, and waits for the end of all of it. So a run goes on until
/// nothing is left of it, whatever ended it.
fn with_job(election: ElectionBuilder, entry: Entry, asks: &UnboundedSender<Ask>) -> ElectionBuilder {
    let (asks, action) = (asks.clone(), Arc::new(entry.action));
    election.job(entry.job, move |run| -> Verdict {
        let (done, verdict) = oneshot::channel();
        let ended = || "was not run: tenure is about to end".to_owned();
        if let Err(SendError(ask)) = asks.send(Ask { run, action: Arc::clone(&action), done }) {
            ask.run.give_back();
            return Err(ended());
        }
        verdict.blocking_recv().unwrap_or_else(|_| Err(ended()))
    })
}

/// One `tenure cron` from its first campaign to its end.
struct Cron<'a> {
    teller: Teller,
    election: &'a Election,
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
                signal = signals.end() => self.obey(signal),
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

    fn obey(&mut self, signal: i32) {
        if self.end.is_some() {
            // Asked twice: no more patience with the commands. The lease is still released in order.
            self.crew.hurry();
        }
        self.end.get_or_insert(Exit::Signalled(signal));
        self.election.request_stop();
    }
}
