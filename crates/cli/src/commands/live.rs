//! `tenure status --watch`: a table that is kept up to date.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use tenure::cron::{JobReport, RunOutcome};
use tenure::store::{Change, Feature, Observation, StoreErrorKind, Transition};
use tenure::{Client, Clock};

use super::gaps;
use super::status::{HEADINGS, Messages, entries, messages, observe, row, shown};
use crate::args::Global;
use crate::duration::show;
use crate::exit::{CommandError, Exit};
use crate::options::{open_to_look, open_to_look_for};
use crate::output::{now, table};
use crate::repeats::{RepeatedCause, Repeats};
use crate::signals::Signals;
use crate::stderr_writer::say;
use crate::stdout_writer::{Printed, StdoutWriter};

/// How often the table is drawn when nothing happens: leases count down.
const EVERY: Duration = Duration::from_secs(1);
/// What nobody is told of when it changes, such as a message that becomes a dead letter, is looked at this often.
const DETAILS_EVERY: Duration = Duration::from_secs(5);
/// Elections of which details are shown: each takes two requests.
const MAX_DETAILED: usize = 50;

/// What is shown besides what `tenure status` shows once.
const MORE_HEADINGS: [&str; 2] = ["LAST CHANGE", "JOBS"];

pub(super) async fn execute(global: &Global, name: Option<&str>) -> Result<Exit, CommandError> {
    let mut signals = Signals::listen()?;
    // Neither the store nor a reader that does not read keeps it from ending.
    tokio::select! {
        signal = signals.end() => Ok(Exit::Signalled(signal)),
        shown = show_all(global, name) => shown,
    }
}

async fn show_all(global: &Global, name: Option<&str>) -> Result<Exit, CommandError> {
    let output = StdoutWriter::start()?;
    let client = match name {
        Some(name) => open_to_look_for(global, name)?,
        None => open_to_look(global)?,
    };
    gaps::tell(&client, &[shown(name), &[Feature::History]].concat());
    // Listening begins before looking, so that nothing falls between the two.
    let mut hints = client.store().hints();
    let (mut known, mut repeats) = (Known::default(), Repeats::default());
    loop {
        let looked = look(&client, name, &mut known).await;
        let now = Clock::boottime().now();
        match looked {
            Ok(rows) => {
                if let Some(spell) = repeats.answered(now) {
                    say(&spell.is_over());
                }
                if output.print(drawn(&rows)?).await? != Printed::Written {
                    return Ok(Exit::Success);
                }
            }
            // Who watches wants to see how it goes on.
            Err(CommandError { message, .. }) => {
                let telling = repeats.failed(now, RepeatedCause::Store, &message);
                telling.sentence(&message).iter().for_each(|sentence| say(sentence));
            }
        }
        tokio::select! {
            _ = hints.next() => while hints.try_next().is_some() {},
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

/// What was looked at a moment ago.
#[derive(Default)]
struct Known {
    details: BTreeMap<String, ElectionDetails>,
    messages: Option<(Instant, Messages)>,
}

/// What is known of an election besides who leads it.
struct ElectionDetails {
    looked_at: Instant,
    /// Under which term it was looked at.
    term: Option<tenure::Term>,
    last_loss: Option<Transition>,
    jobs: String,
}

impl ElectionDetails {
    fn cells(&self) -> [String; 2] {
        let last_change = self.last_loss.as_ref().map_or_else(|| "-".to_owned(), in_words);
        [last_change, self.jobs.clone()]
    }
}

async fn look(client: &Client, name: Option<&str>, known: &mut Known) -> Result<Vec<Vec<String>>, CommandError> {
    let observed = observe(client, name).await?;
    let (looked_at, counts) = match known.messages.take().filter(|(at, _)| at.elapsed() < DETAILS_EVERY) {
        Some(counted) => counted,
        None => (Instant::now(), messages(client, name).await?),
    };
    let entries = entries(observed, &counts, name.is_none());
    known.messages = Some((looked_at, counts));
    let details = &mut known.details;
    let mut rows = Vec::with_capacity(entries.len());
    for (position, entry) in entries.iter().enumerate() {
        let (name, seen) = (&entry.name, entry.observation());
        let term = seen.lease.as_ref().map(|lease| lease.leader.term);
        let is_current = |known: &ElectionDetails| known.term == term && known.looked_at.elapsed() < DETAILS_EVERY;
        let mut damage = entry.damage().map(ToString::to_string);
        if damage.is_none() && position < MAX_DETAILED && !details.get(name).is_some_and(is_current) {
            match look_closer(client, name, &seen).await {
                Ok(looked_at) => drop(details.insert(name.clone(), looked_at)),
                Err(tenure::Error::Store(error)) if error.damaged_record().is_some() => {
                    damage = Some(error.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut row = row(entry);
        match damage {
            Some(damage) => row.extend([damage, "-".to_owned()]),
            None => row.extend(details.get(name).map(ElectionDetails::cells).unwrap_or_default()),
        }
        rows.push(row);
    }
    details.retain(|known, _| entries.iter().any(|entry| entry.name == *known));
    Ok(rows)
}

async fn look_closer(client: &Client, name: &str, seen: &Observation) -> Result<ElectionDetails, tenure::Error> {
    let election = client.election(name)?;
    let history = election.history(4).await?;
    let jobs = match election.jobs(1).await {
        Ok(jobs) => count_of(&jobs),
        Err(tenure::Error::Store(error)) if error.kind() == StoreErrorKind::Unsupported => "-".to_owned(),
        Err(error) => return Err(error),
    };
    Ok(ElectionDetails {
        looked_at: Instant::now(),
        term: seen.lease.as_ref().map(|lease| lease.leader.term),
        last_loss: history.into_iter().find(|transition| transition.change == Change::Lost),
        jobs,
    })
}

/// The newest leadership that ended, why, and how long ago that is by now.
fn in_words(lost: &Transition) -> String {
    let ago = Duration::from_millis(Clock::boottime().unix_ms().saturating_sub(lost.at_unix_ms));
    format!("{} lost term {}: {}, {} ago", lost.candidate, lost.term, lost.reason, show(ago))
}

/// How many jobs there are, and how many of them failed when they last ran.
fn count_of(jobs: &[JobReport]) -> String {
    let failed = |job: &&JobReport| {
        let end = job.runs.first().and_then(|run| run.end.as_ref());
        end.is_some_and(|end| matches!(end.outcome, RunOutcome::Failed { .. } | RunOutcome::TimedOut))
    };
    match (jobs.len(), jobs.iter().filter(failed).count()) {
        (0, _) => "-".to_owned(),
        (all, 0) => all.to_string(),
        (all, failed) => format!("{all}, {failed} failed"),
    }
}

/// On a terminal the table stays where it is; elsewhere one follows the other.
fn drawn(rows: &[Vec<String>]) -> io::Result<Vec<u8>> {
    const CLEAR: &str = "\x1b[H\x1b[J";
    let clear = if io::stdout().is_terminal() { CLEAR } else { "" };
    let mut screen = format!("{clear}{}\n", now()).into_bytes();
    table(&mut screen, &[&HEADINGS[..], &MORE_HEADINGS].concat(), rows)?;
    screen.push(b'\n');
    Ok(screen)
}
