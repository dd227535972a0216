//! One job of a crontab.

use std::ffi::OsString;
use std::ops::Range;
use std::time::Duration;

use tenure::JobName;
use tenure::cron::{Job, Schedule};
use toml::Spanned;
use toml::de::DeString;

use super::value::{Reader, Value, must_be, text};
use super::{CrontabEntry, JobCommand, JobSettings};
use crate::args::MAX_RETRIES;
use crate::message::on_one_line;

/// What commands are told of their run. Nobody else can set these variables for them.
const TOLD: [&str; 6] =
    ["TENURE_ELECTION", "TENURE_CANDIDATE", "TENURE_TERM", "TENURE_JOB", "TENURE_TICK", "TENURE_RETRY"];

const KEYS: [&str; 14] = [
    "schedule",
    "time-zone",
    "command",
    "missed",
    "window",
    "overlap",
    "interrupted",
    "timeout",
    "jitter",
    "retries",
    "retry-after",
    "enabled",
    "env",
    "directory",
];

/// What a job says, as far as it could be read.
#[derive(Default)]
struct PartialEntry {
    schedule: Option<(String, Range<usize>)>,
    time_zone: Option<(String, Range<usize>)>,
    settings: JobSettings,
    action: JobCommand,
}

/// A job that is due in this time zone unless it says otherwise; `None` if it cannot be used.
pub(super) fn entry(
    reader: &mut Reader<'_>,
    name: &Spanned<DeString<'_>>,
    value: &Value<'_>,
    zone: &str,
) -> Option<CrontabEntry> {
    let errors = reader.errors();
    let table = reader.table("jobs", value)?;
    let mut read = PartialEntry::default();
    for (key, value) in table {
        field(reader, &mut read, key, value);
    }
    for key in ["schedule", "command"] {
        if !table.contains_key(key) {
            reader.complain(Some(name.span()), format!("`{key}` is missing"));
        }
    }
    let named = JobName::new(name.as_ref().as_ref());
    let named = named.map_err(|error| reader.complain(Some(name.span()), error.to_string())).ok();
    let schedule = schedule(reader, &read, zone);
    let job = read.settings.apply(Job::with_schedule(named?, schedule?));
    (reader.errors() == errors).then_some(CrontabEntry { job, action: read.action })
}

fn field(reader: &mut Reader<'_>, read: &mut PartialEntry, key: &Spanned<DeString<'_>>, value: &Value<'_>) {
    match key.as_ref().as_ref() {
        name @ "schedule" => read.schedule = reader.text(name, value).map(|text| (text, value.span())),
        name @ "time-zone" => read.time_zone = reader.text(name, value).map(|text| (text, value.span())),
        name @ "command" => read.action.command = reader.take(name, value, command(value)).unwrap_or_default(),
        name @ "missed" => read.settings.missed = reader.parsed(name, value),
        name @ "window" => read.settings.window = reader.duration(name, value),
        name @ "overlap" => read.settings.overlap = reader.parsed(name, value),
        name @ "interrupted" => read.settings.interrupted = reader.parsed(name, value),
        name @ "timeout" => read.settings.timeout = timeout(reader, name, value),
        name @ "jitter" => read.settings.jitter = reader.duration(name, value),
        name @ "retries" => read.settings.retries = reader.take(name, value, retries(value)),
        name @ "retry-after" => read.settings.retry_after = reader.duration(name, value),
        name @ "enabled" => read.settings.enabled = reader.truth(name, value),
        name @ "env" => read.action.env = env(reader, name, value),
        name @ "directory" => read.action.directory = reader.text(name, value).map(OsString::from),
        _ => reader.unknown(key, &KEYS),
    }
}

/// Expression and time zone are both looked at, even if one of them cannot be used.
fn schedule(reader: &mut Reader<'_>, read: &PartialEntry, zone: &str) -> Option<Schedule> {
    let expression = read.schedule.as_ref().and_then(|(text, at)| {
        let schedule = Schedule::new(text, zone);
        schedule.map_err(|error| reader.complain(Some(at.clone()), format!("`schedule` cannot be used: {error}"))).ok()
    });
    let Some((own, at)) = &read.time_zone else { return expression };
    let moved = match &expression {
        Some(schedule) => schedule.in_zone(own),
        None => Schedule::new("@yearly", own),
    };
    let moved =
        moved.map_err(|error| reader.complain(Some(at.clone()), format!("`time-zone` cannot be used: {error}")));
    moved.ok().filter(|_| expression.is_some())
}

fn timeout(reader: &mut Reader<'_>, key: &str, value: &Value<'_>) -> Option<Duration> {
    let limit = reader.duration(key, value)?;
    let is_some = if limit.is_zero() { Err("must be longer than 0s".to_owned()) } else { Ok(limit) };
    reader.take(key, value, is_some)
}

fn retries(value: &Value<'_>) -> Result<u32, String> {
    let number = value.as_ref().as_integer().ok_or_else(|| must_be("a number such as 3", value))?;
    let read = u32::from_str_radix(number.as_str(), number.radix());
    read.ok().filter(|retries| *retries <= MAX_RETRIES).ok_or_else(|| format!("must be 0 to {MAX_RETRIES}"))
}

/// A string is a line for the shell, and an array is a program with its arguments.
fn command(value: &Value<'_>) -> Result<Vec<OsString>, String> {
    const WANTED: &str = "an array such as [\"backup\", \"--all\"], or a string for the shell";
    let words = match value.as_ref().as_array() {
        Some(words) => words.iter().map(text).collect::<Result<Vec<String>, String>>()?,
        None if value.as_ref().is_str() => {
            let line = text(value)?;
            if line.trim().is_empty() { Vec::new() } else { vec!["/bin/sh".to_owned(), "-c".to_owned(), line] }
        }
        None => return Err(must_be(WANTED, value)),
    };
    match words.first() {
        None => Err("is empty; name a program to run".to_owned()),
        Some(program) if program.is_empty() => Err("names no program; its first word is empty".to_owned()),
        Some(_) => Ok(words.into_iter().map(OsString::from).collect()),
    }
}

fn env(reader: &mut Reader<'_>, key: &str, value: &Value<'_>) -> Vec<(OsString, OsString)> {
    let Some(table) = reader.table(key, value) else { return Vec::new() };
    let mut variables = Vec::new();
    for (name, value) in table {
        let variable = name.as_ref().as_ref();
        let read = if variable.is_empty() || variable.contains(['=', '\0']) {
            Err("is not a valid variable name; it must not be empty or contain = or NUL".to_owned())
        } else if TOLD.contains(&variable) {
            Err("is set by tenure itself; remove it".to_owned())
        } else {
            text(value)
        };
        let shown = format!("{key}.{}", on_one_line(variable));
        variables.extend(reader.take(&shown, value, read).map(|text| (OsString::from(variable), OsString::from(text))));
    }
    variables
}
