//! `tenure watch`: changes of leadership as they happen.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use tenure::store::{Change, Feature, Observation, StoreError, Transition};
use tenure::{Client, Clock};

use super::gaps;
use super::status::observe;
use crate::args::{Global, WatchArgs};
use crate::exit::{CommandError, Exit};
use crate::job::millis;
use crate::message::printable;
use crate::options::{open_to_look, open_to_look_for};
use crate::output::{json_line, now};
use crate::repeats::{RepeatedCause, Repeats, Spell, Telling};
use crate::signals::Signals;
use crate::stderr_writer::say;
use crate::stdout_writer::{Printed, StdoutWriter};

/// A change as `tenure watch --json` prints it.
#[derive(Debug, Serialize)]
struct ChangeLine<'a> {
    event: &'static str,
    /// Of an `error` it is the one that was asked about, if one was.
    election: Option<&'a str>,
    candidate: Option<&'a str>,
    term: Option<u64>,
    reason: Option<&'a str>,
    at: String,
    boot_ns: u64,
    /// Of `recovered`, and of an `error` that was told before.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lasting_ms: Option<u64>,
}

impl<'a> ChangeLine<'a> {
    fn new(event: &'static str, election: Option<&'a str>) -> Self {
        let (at, boot_ns) = (now(), Clock::boottime().now().as_nanos());
        let (candidate, term, reason) = (None, None, None);
        Self { event, election, candidate, term, reason, at, boot_ns, attempts: None, lasting_ms: None }
    }

    fn with(self, spell: Spell) -> Self {
        Self { attempts: Some(spell.attempts), lasting_ms: Some(millis(spell.lasting)), ..self }
    }
}

/// The pause before looking again at a store that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What is remembered of an election: who leads, and under which term, if that is known.
type KnownLeader = Option<(String, Option<u64>)>;

pub(super) async fn execute(global: &Global, args: &WatchArgs) -> Result<Exit, CommandError> {
    let mut signals = Signals::listen()?;
    // Neither the store nor a reader that does not read keeps it from ending.
    tokio::select! {
        signal = signals.end() => Ok(Exit::Signalled(signal)),
        watched = watch(global, args) => watched,
    }
}

async fn watch(global: &Global, args: &WatchArgs) -> Result<Exit, CommandError> {
    let output = StdoutWriter::start()?;
    let client = match &args.name {
        Some(name) => open_to_look_for(global, name)?,
        None => open_to_look(global)?,
    };
    // Listening begins before looking, so that nothing falls between the two.
    let mut hints = client.store().hints();
    let mut known: BTreeMap<String, KnownLeader> = BTreeMap::new();
    let mut failures =
        Failures { json: args.json, name: args.name.as_deref(), repeats: Repeats::default(), damaged: BTreeSet::new() };
    let mut observed = observe(&client, args.name.as_deref()).await?;
    let asked: &[Feature] = &[Feature::Records, Feature::History];
    gaps::tell(&client, if args.name.is_some() { &asked[1..] } else { asked });
    loop {
        for (name, seen) in &observed {
            let seen = match seen {
                Ok(seen) => seen,
                // Nothing is known of it, so nothing has changed.
                Err(damage) => {
                    let told = failures.note_damage(name, damage)?;
                    if output.print(told).await? != Printed::Written {
                        return Ok(Exit::Success);
                    }
                    continue;
                }
            };
            let now = leader_of(seen);
            if known.get(name) != Some(&now) {
                let ended = match known.get(name).cloned().flatten() {
                    Some((candidate, term)) => {
                        let reason = reason(&client, name, term).await;
                        Some(EndedLeadership { candidate, term, reason })
                    }
                    None => None,
                };
                let told = report(args.json, name, ended.as_ref(), &now)?;
                if output.print(told).await? != Printed::Written {
                    return Ok(Exit::Success);
                }
                known.insert(name.clone(), now);
            }
        }
        tokio::select! {
            _ = hints.next() => while hints.try_next().is_some() {},
            () = tokio::time::sleep(next_look(&observed, client.store().capabilities().pushes)) => {}
        }
        let looked = observe(&client, args.name.as_deref()).await;
        let told = failures.note(looked.as_ref().err())?;
        if output.print(told).await? != Printed::Written {
            return Ok(Exit::Success);
        }
        match looked {
            Ok(seen) => observed = seen,
            // Who watches wants to see how it goes on.
            Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
        }
    }
}

/// Tells of looks that fail, and that they do no more.
struct Failures<'a> {
    json: bool,
    /// The election that was asked about, if it is one.
    name: Option<&'a str>,
    repeats: Repeats,
    /// The elections whose damaged records were told of.
    damaged: BTreeSet<String>,
}

impl Failures<'_> {
    /// Tells, once, of an election whose record cannot be read. Returns what is to be printed of it.
    fn note_damage(&mut self, election: &str, damage: &StoreError) -> io::Result<Vec<u8>> {
        let mut printed = Vec::new();
        if !self.damaged.insert(election.to_owned()) {
            return Ok(printed);
        }
        let reason = damage.to_string();
        if self.json {
            let line = ChangeLine { reason: Some(&reason), ..ChangeLine::new("error", Some(election)) };
            json_line(&mut printed, &line)?;
        } else {
            say(&reason);
        }
        Ok(printed)
    }

    /// Tells what there is to tell of the last look: as a part of the stream, which is returned, or on standard error.
    fn note(&mut self, failure: Option<&CommandError>) -> io::Result<Vec<u8>> {
        let now = Clock::boottime().now();
        let (line, sentence) = match failure {
            Some(CommandError { message, .. }) => {
                let telling = self.repeats.failed(now, RepeatedCause::Store, message);
                let line = ChangeLine { reason: Some(message), ..ChangeLine::new("error", self.name) };
                let line = match telling {
                    Telling::First => Some(line),
                    Telling::Still(spell) => Some(line.with(spell)),
                    Telling::Not => None,
                };
                (line, telling.sentence(message))
            }
            None => {
                let over = self.repeats.answered(now);
                (over.map(|over| ChangeLine::new("recovered", self.name).with(over)), over.map(Spell::is_over))
            }
        };
        let mut printed = Vec::new();
        match (line, sentence) {
            (Some(line), _) if self.json => json_line(&mut printed, &line)?,
            (_, Some(sentence)) => say(&sentence),
            (_, None) => {}
        }
        Ok(printed)
    }
}

/// The next known expiry is when something may have changed without anybody saying so.
fn next_look(observed: &[(String, Result<Observation, StoreError>)], pushes: bool) -> Duration {
    const AFTER_EXPIRY: Duration = Duration::from_millis(20);
    // Participants of another make tell nobody, and neither does whoever changes a store by hand.
    let longest = Duration::from_secs(if pushes { 2 } else { 1 });
    let expiries = observed.iter().filter_map(|(_, seen)| seen.as_ref().ok()?.lease.as_ref()?.remaining);
    expiries.map(|remaining| remaining + AFTER_EXPIRY).chain([longest]).min().unwrap_or(longest)
}

fn leader_of(seen: &Observation) -> KnownLeader {
    let lease = seen.lease.as_ref()?;
    Some((lease.leader.candidate.to_string(), lease.term.map(tenure::Term::get)))
}

/// Why a leadership ended, if the store has written it down.
async fn reason(client: &Client, election: &str, term: Option<u64>) -> Option<String> {
    const NEWEST: usize = 16;
    let history = client.election(election).ok()?.history(NEWEST).await.ok()?;
    let is_it = |change: &&Transition| change.change == Change::Lost && Some(change.term.get()) == term;
    history.iter().find(is_it).map(|change| change.reason.clone())
}

/// A leadership that ended, and why, if that is known.
struct EndedLeadership {
    candidate: String,
    term: Option<u64>,
    reason: Option<String>,
}

fn report(json: bool, election: &str, ended: Option<&EndedLeadership>, leader: &KnownLeader) -> io::Result<Vec<u8>> {
    if json { report_json(election, ended, leader) } else { report_text(election, ended, leader) }
}

fn report_json(election: &str, ended: Option<&EndedLeadership>, leader: &KnownLeader) -> io::Result<Vec<u8>> {
    let mut printed = Vec::new();
    if let Some(EndedLeadership { candidate, term, reason }) = ended {
        let (candidate, reason, lost) =
            (Some(candidate.as_str()), reason.as_deref(), ChangeLine::new("lost", Some(election)));
        json_line(&mut printed, &ChangeLine { candidate, term: *term, reason, ..lost })?;
    }
    let candidate = leader.as_ref().map(|(candidate, _)| candidate.as_str());
    let term = leader.as_ref().and_then(|(_, term)| *term);
    json_line(&mut printed, &ChangeLine { candidate, term, ..ChangeLine::new("observed", Some(election)) })?;
    Ok(printed)
}

fn report_text(election: &str, ended: Option<&EndedLeadership>, leader: &KnownLeader) -> io::Result<Vec<u8>> {
    let at = now();
    let under = |term: &Option<u64>| term.map(|term| format!(" term {term}")).unwrap_or_default();
    let mut printed = Vec::new();
    if let Some(EndedLeadership { candidate, term, reason }) = ended {
        let reason = printable(reason.as_deref().unwrap_or("unknown reason"));
        writeln!(printed, "{at}  {election}: {candidate} lost{}: {reason}", under(term))?;
    }
    match leader {
        Some((candidate, None)) => writeln!(printed, "{at}  {election}: {candidate} leads"),
        Some((candidate, Some(term))) => writeln!(printed, "{at}  {election}: {candidate} leads, term {term}"),
        None => writeln!(printed, "{at}  {election}: nobody leads"),
    }?;
    Ok(printed)
}
