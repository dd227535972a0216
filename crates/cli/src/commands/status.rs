//! `tenure status`: shows the leaders.

use std::collections::BTreeMap;

use tenure::store::{Feature, Observation, StoreError};
use tenure::{CandidateId, Client, MessageCount};

use super::{gaps, live, send};
use crate::args::{Global, StatusArgs};
use crate::duration::show;
use crate::exit::{CommandError, Exit};
use crate::options::{open_to_look, open_to_look_for, store_shown};
use crate::output::{StatusLine, json_line, print, table};
use crate::stderr_writer::say;

/// An election, and what is known of it.
pub(super) struct StatusEntry {
    pub(super) name: String,
    seen: Result<Observation, StoreError>,
    /// How many messages wait and how many are dead letters; nothing where the store keeps none.
    messages: Option<MessageTally>,
}

/// How many messages wait and how many are dead letters, or why that cannot be read.
type MessageTally = Result<(u64, u64), StoreError>;

/// The same of elections, by their names; nothing where the store keeps none.
pub(super) type Messages = Option<BTreeMap<String, MessageTally>>;

impl StatusEntry {
    /// What could be read of it.
    pub(super) fn observation(&self) -> Observation {
        self.seen.clone().unwrap_or_default()
    }

    /// What is wrong with its record, if it is damaged.
    pub(super) fn damage(&self) -> Option<&StoreError> {
        let messages = self.messages.as_ref().and_then(|messages| messages.as_ref().err());
        self.seen.as_ref().err().or(messages)
    }
}

pub(super) const HEADINGS: [&str; 7] = ["ELECTION", "LEADER", "TERM", "REMAINING", "SINCE", "MESSAGES", "STANDING BY"];

pub(super) async fn execute(global: &Global, args: &StatusArgs) -> Result<Exit, CommandError> {
    if args.watch {
        return live::execute(global, args.name.as_deref()).await;
    }
    let asked_about = args.leads.as_ref().map(CandidateId::new).transpose().map_err(tenure::Error::from)?;
    let name = args.name.as_deref();
    let client = match name {
        Some(name) => open_to_look_for(global, name)?,
        None => open_to_look(global)?,
    };
    let observed = observe(&client, name).await?;
    // Whether one candidate leads is known everywhere.
    if args.leads.is_none() {
        gaps::tell(&client, shown(name));
    }
    let entries = entries(observed, &messages(&client, name).await?, name.is_none());
    if args.json {
        let lines: Vec<StatusLine> = entries.iter().map(line).collect();
        print(|out| json_line(out, &lines))?;
    } else if entries.is_empty() {
        let what = if gaps::lacks(&client, Feature::Records) { "no elections are listed" } else { "no elections" };
        print(|out| writeln!(out, "{what} in namespace {} of {}", global.namespace, store_shown(global)))?;
    } else {
        let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
        print(|out| table(out, &HEADINGS, &rows))?;
    }
    let is_stranger = |entry: &StatusEntry| entry.seen.as_ref().is_ok_and(|seen| *seen == Observation::default());
    if let Some(name) = name.filter(|_| !gaps::lacks(&client, Feature::Records) && entries.iter().all(is_stranger)) {
        send::tell_of_a_stranger(global, name, "`tenure status` without a name lists all that have");
    }
    let damaged: Vec<&StoreError> = entries.iter().filter_map(StatusEntry::damage).collect();
    damaged.iter().for_each(|damage| say(&damage.to_string()));
    let leads = |entry: &StatusEntry| entry.observation().lease.map(|lease| lease.leader.candidate);
    let is_so = match asked_about {
        Some(candidate) => entries.iter().any(|entry| leads(entry).as_ref() == Some(&candidate)),
        None => damaged.is_empty(),
    };
    Ok(if is_so { Exit::Success } else { Exit::Failure })
}

/// What is shown of one election, or of all, and what not every store knows.
pub(super) fn shown(name: Option<&str>) -> &'static [Feature] {
    const LIST: [Feature; 4] = [Feature::Records, Feature::StandBys, Feature::Deadlines, Feature::Metadata];
    if name.is_some() { &LIST[1..] } else { &LIST }
}

/// One election, or all that ever had a candidate.
pub(super) async fn observe(
    client: &Client,
    name: Option<&str>,
) -> Result<Vec<(String, Result<Observation, StoreError>)>, CommandError> {
    match name {
        Some(name) => Ok(vec![(name.to_owned(), Ok(client.election(name)?.observe().await?))]),
        None => Ok(client.observe_all().await?.into_iter().map(|(name, seen)| (name.to_string(), seen)).collect()),
    }
}

/// How many messages wait, in one election or in all.
pub(super) async fn messages(client: &Client, name: Option<&str>) -> Result<Messages, CommandError> {
    if !gaps::keeps_messages(client) {
        return Ok(None);
    }
    let counts = client.store().message_counts(name).await?;
    let named = |count: Result<MessageCount, StoreError>| match count {
        Ok(count) => Some((count.election.to_string(), Ok((count.waiting, count.dead_letters)))),
        Err(damage) => Some((damage.damaged_record()?.name.to_string(), Err(damage))),
    };
    Ok(Some(counts.into_iter().filter_map(named).collect()))
}

/// Elections with their messages, in order of their names. In a list of all, those that only messages were sent to are shown,
/// too: nobody would find them otherwise.
pub(super) fn entries(
    observed: Vec<(String, Result<Observation, StoreError>)>,
    messages: &Messages,
    is_list: bool,
) -> Vec<StatusEntry> {
    let mut all: BTreeMap<String, Result<Observation, StoreError>> = observed.into_iter().collect();
    if let (Some(messages), true) = (messages, is_list) {
        for name in messages.keys() {
            all.entry(name.clone()).or_insert_with(|| Ok(Observation::default()));
        }
    }
    let entry = |(name, seen): (String, Result<Observation, StoreError>)| {
        let count = |counts: &BTreeMap<String, MessageTally>| counts.get(&name).cloned().unwrap_or(Ok((0, 0)));
        StatusEntry { messages: messages.as_ref().map(count), name, seen }
    };
    all.into_iter().map(entry).collect()
}

fn line(entry: &StatusEntry) -> StatusLine {
    let messages = entry.messages.as_ref().and_then(|messages| messages.as_ref().ok());
    let damage = entry.damage().map(ToString::to_string);
    StatusLine { damaged: damage, ..StatusLine::new(&entry.name, &entry.observation(), messages.copied()) }
}

/// One election as a row under these [headings](HEADINGS).
pub(super) fn row(entry: &StatusEntry) -> Vec<String> {
    let line = line(entry);
    let dash = || "-".to_owned();
    let damaged = || "(damaged)".to_owned();
    let reserved = line.reserved_for.map(|candidate| format!("(reserved for {candidate})"));
    vec![
        line.election,
        line.leader.or(reserved).unwrap_or_else(if entry.seen.is_err() { damaged } else { dash }),
        line.term.map_or_else(dash, |term| term.to_string()),
        entry.observation().lease.and_then(|lease| lease.remaining).map_or_else(dash, show),
        line.since.unwrap_or_else(dash),
        match entry.messages {
            Some(Err(_)) => damaged(),
            None | Some(Ok((0, 0))) => dash(),
            Some(Ok((waiting, 0))) => format!("{waiting} waiting"),
            Some(Ok((0, count))) => dead_letters(count),
            Some(Ok((waiting, count))) => format!("{waiting} waiting, {}", dead_letters(count)),
        },
        if line.standing_by.is_empty() { dash() } else { line.standing_by.join(", ") },
    ]
}

/// This many dead letters, for people.
pub(super) fn dead_letters(count: u64) -> String {
    format!("{count} dead letter{}", if count == 1 { "" } else { "s" })
}
