//! A crontab as a whole.

use tenure::ElectionName;
use tenure::cron::Schedule;
use tenure_core::jobs::MAX_JOBS;
use toml::de::DeTable;

use super::entry::entry;
use super::error::CrontabError;
use super::value::{Reader, Value};
use super::{Crontab, CrontabEntry};
use crate::options;

const KEYS: [&str; 7] = ["election", "preset", "ttl", "renew", "grace", "time-zone", "jobs"];
const EVERYWHERE: &str = "UTC";
/// Comes in every time zone, and so tells whether there is such a zone.
const ALWAYS: &str = "@yearly";

/// Parses the text of a crontab. `election` is the default election.
#[must_use]
pub fn parse(text: &str, election: &str) -> (Crontab, Vec<CrontabError>) {
    let mut reader = Reader::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        // Only the message: what toml shows of the line may be a secret.
        reader.complain(error.span(), format!("invalid TOML: {}", error.message()));
    }
    let mut crontab = Crontab { election: election.to_owned(), ..Crontab::default() };
    if errors.is_empty() {
        read(&mut reader, document.as_ref(), &mut crontab);
    }
    (crontab, reader.into_errors())
}

fn read(reader: &mut Reader<'_>, document: &DeTable<'_>, crontab: &mut Crontab) {
    let (mut named, mut jobs, mut zone) = (None, None, EVERYWHERE.to_owned());
    let timing = &mut crontab.timing;
    for (key, value) in document {
        match key.as_ref().as_ref() {
            name @ "election" => named = reader.text(name, value).map(|text| (text, value.span())),
            name @ "preset" => timing.preset = reader.text(name, value),
            name @ "ttl" => timing.ttl = reader.duration(name, value),
            name @ "renew" => timing.renew = reader.duration(name, value),
            name @ "grace" => timing.grace = reader.duration(name, value),
            name @ "time-zone" => zone = time_zone(reader, name, value).unwrap_or(zone),
            "jobs" => jobs = Some(value),
            _ => reader.unknown(key, &KEYS),
        }
    }
    let at = named.as_ref().map(|(_, span)| span.clone());
    crontab.election = named.map_or_else(|| crontab.election.clone(), |(name, _)| name);
    if let Err(error) = ElectionName::new(&crontab.election) {
        reader.complain(at, format!("{error}; set `election`"));
    }
    check_timing(reader, document, crontab);
    crontab.entries = entries(reader, jobs, &zone);
}

fn time_zone(reader: &mut Reader<'_>, key: &str, value: &Value<'_>) -> Option<String> {
    let zone = reader.text(key, value)?;
    let known = Schedule::new(ALWAYS, &zone).map_err(|error| format!("cannot be used: {error}"));
    reader.take(key, value, known).map(|_| zone)
}

fn check_timing(reader: &mut Reader<'_>, document: &DeTable<'_>, crontab: &Crontab) {
    let at = |keys: &[&str]| keys.iter().find_map(|key| document.get(*key)).map(Value::span);
    if crontab.timing.preset.is_some() && crontab.timing.ttl.is_some() {
        reader.complain(at(&["ttl"]), "`ttl` and `preset` exclude each other; remove one of them");
    } else if let Err(failure) = options::timing(&crontab.timing) {
        reader.complain(at(&["preset", "ttl", "renew", "grace"]), failure.message);
    }
}

fn entries(reader: &mut Reader<'_>, jobs: Option<&Value<'_>>, zone: &str) -> Vec<CrontabEntry> {
    let Some(jobs) = jobs else {
        reader.complain(None, "has no job; write a table [jobs.NAME] with `schedule` and `command`");
        return Vec::new();
    };
    let Some(tables) = reader.table("jobs", jobs) else { return Vec::new() };
    if tables.is_empty() || tables.len() > MAX_JOBS {
        reader.complain(Some(jobs.span()), format!("`jobs` holds {} jobs; write 1 to {MAX_JOBS}", tables.len()));
    }
    let mut entries = Vec::new();
    for (name, job) in tables {
        reader.set_job(Some(name.as_ref()));
        entries.extend(entry(reader, name, job, zone));
    }
    reader.set_job(None);
    entries
}
