//! Lookup of time zones by name.

use jiff::tz::{TimeZone, TimeZoneDatabase, db};

use super::error::ScheduleError;

/// Where no time zone is named, this one is meant: it is the same everywhere.
pub(super) const DEFAULT: &str = "UTC";

/// More hints than this would hide the right one.
const MAX_HINTS: usize = 3;
/// More mistakes than this make another name.
const MAX_MISTAKES: usize = 2;

/// Looks in the system's database, because that is kept up to date, and then in the one that is built in, because a container
/// may have none.
pub(super) fn find(name: &str) -> Result<TimeZone, ScheduleError> {
    let known = |database: &TimeZoneDatabase| database.get(name).ok().filter(|zone| zone.iana_name().is_some());
    known(db())
        .or_else(|| known(&TimeZoneDatabase::bundled()))
        .ok_or_else(|| ScheduleError::Zone { name: name.chars().take(80).collect(), hint: hint(name) })
}

/// Names that may have been meant: the same place, or nearly the same letters.
fn hint(name: &str) -> String {
    let wanted = name.trim().replace(' ', "_").to_ascii_lowercase();
    let bundled = TimeZoneDatabase::bundled();
    let names: Vec<String> = bundled.available().map(|known| known.as_str().to_owned()).collect();
    let is_place = |known: &&String| known.to_ascii_lowercase().rsplit('/').next() == Some(wanted.as_str());
    let is_near = |known: &&String| mistakes(&known.to_ascii_lowercase(), &wanted) <= MAX_MISTAKES;
    let mut meant: Vec<&String> = names.iter().filter(is_place).collect();
    if meant.is_empty() && wanted.len() > MAX_MISTAKES && wanted.len() < 80 {
        meant = names.iter().filter(is_near).collect();
    }
    let meant: Vec<String> = meant.into_iter().take(MAX_HINTS).map(|known| format!("`{known}`")).collect();
    if meant.is_empty() { String::new() } else { format!("; did you mean {}?", meant.join(" or ")) }
}

/// How many letters have to be put in, left out or replaced to make one of the other.
fn mistakes(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, wanted) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != wanted);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
