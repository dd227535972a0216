//! Parsing of cron expressions, with errors that name the field.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use super::error::ScheduleError;

/// A parsed cron expression.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    /// The same for all ways to write the same fields: numbers instead of names, no seconds if they are zero.
    pub(super) text: String,
    /// When it matches, on a clock whose days all have 24 hours.
    pub(super) cron: Cron,
    /// Whether it names times of the day. Otherwise its second, minute or hour begins with a `*`.
    pub(super) is_fixed: bool,
}

/// What may stand in a field besides numbers and signs.
struct CronField {
    name: &'static str,
    range: &'static str,
    /// In their order; the first means this number.
    names: &'static [&'static str],
    first: u8,
    last: u8,
    /// Letters and signs that only this field knows.
    special: &'static str,
}

const FIELDS: [CronField; 6] = [
    CronField { name: "second", range: "0-59", names: &[], first: 0, last: 59, special: "" },
    CronField { name: "minute", range: "0-59", names: &[], first: 0, last: 59, special: "" },
    CronField { name: "hour", range: "0-23", names: &[], first: 0, last: 23, special: "" },
    CronField {
        name: "day of the month",
        range: "1-31, or L for the last",
        names: &[],
        first: 1,
        last: 31,
        special: "LW?",
    },
    CronField { name: "month", range: "1-12 or JAN-DEC", names: &MONTHS, first: 1, last: 12, special: "" },
    CronField { name: "day of the week", range: "0-7 or SUN-SAT", names: &WEEKDAYS, first: 0, last: 7, special: "L#?" },
];
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Maximum length of an expression, in bytes: far more than any needs.
pub(super) const MAX_LENGTH: usize = 1_000;

impl Expression {
    /// Reads five fields, or six with seconds first, or a nickname.
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        if text.len() > MAX_LENGTH {
            return Err(ScheduleError::TooLong { bytes: text.len() });
        }
        let fields = fields_of(text)?;
        let starts_with_star = |field: usize| fields[field].starts_with('*');
        // As in Vixie's cron: `*/2` does not restrict the day by itself, so it does not add days to those of the other field.
        let both_days = starts_with_star(3) || starts_with_star(5);
        let cron = parser(both_days).parse(&fields.join(" ")).map_err(|error| blame(&fields, &error.to_string()))?;
        let text = fields.join(" ");
        let text = text.strip_prefix("0 ").unwrap_or(&text).to_owned();
        Ok(Self { text, cron, is_fixed: !(0..3).any(starts_with_star) })
    }
}

fn parser(both_days: bool) -> CronParser {
    CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).dom_and_dow(both_days).build()
}

/// The six fields, in numbers.
fn fields_of(text: &str) -> Result<Vec<String>, ScheduleError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ScheduleError::Empty);
    }
    let meaning = if text.starts_with('@') { nickname(text)? } else { text };
    let mut fields: Vec<&str> = meaning.split_whitespace().collect();
    match fields.len() {
        5 => fields.insert(0, "0"),
        6 => {}
        count => return Err(ScheduleError::Fields { count }),
    }
    fields.iter().zip(&FIELDS).map(|(text, field)| field.in_numbers(text)).collect()
}

fn nickname(text: &str) -> Result<&'static str, ScheduleError> {
    let known = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    known.map(|(_, meaning)| *meaning).ok_or_else(|| ScheduleError::Nickname { text: text.to_owned() })
}

impl CronField {
    /// Replaces names by numbers, and refuses what belongs to no field or to another.
    fn in_numbers(&self, text: &str) -> Result<String, ScheduleError> {
        let upper = text.to_ascii_uppercase();
        let items: Result<Vec<String>, ScheduleError> = upper.split(',').map(|item| self.item(text, item)).collect();
        let items = items?;
        if items.len() > 1 && self.name == "day of the month" && items.iter().any(|item| item.contains(['L', 'W'])) {
            return Err(self.wrong(text, "L and W cannot be part of a list"));
        }
        Ok(items.join(","))
    }

    fn item(&self, text: &str, item: &str) -> Result<String, ScheduleError> {
        if item.is_empty() {
            return Err(self.wrong(text, "a value is missing next to a comma"));
        }
        let mut numbers = String::new();
        let mut rest = item;
        while let Some(first) = rest.chars().next() {
            let word_end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(word_end);
            if let Some(number) = self.number_of(word, numbers.ends_with('-')) {
                numbers.push_str(&number.to_string());
                rest = after;
            } else if first.is_ascii_digit() || "*,-/".contains(first) || self.special.contains(first) {
                numbers.push(first);
                rest = &rest[first.len_utf8()..];
            } else {
                let what = if word.is_empty() { first.to_string() } else { word.to_owned() };
                return Err(self.wrong(text, &format!("{what:?} is not allowed here")));
            }
        }
        self.check(&numbers).map_err(|why| self.wrong(text, &why))?;
        // A star says nothing more than every number; `?` is another way to write it.
        Ok(if numbers == "?" { "*".to_owned() } else { numbers })
    }

    /// Refuses what the parser would take although it means nothing, or something else than it looks like.
    fn check(&self, item: &str) -> Result<(), String> {
        let (base, step) = item.split_once('/').map_or((item, None), |(base, step)| (base, Some(step)));
        let range = base.split_once('-').map(|(from, to)| (self.number(from), self.number(to)));
        let (from, to) = match (base, range) {
            // Sunday is there twice, as 0 and as 7.
            ("*", _) => (self.first, if self.last == 7 { 6 } else { self.last }),
            (_, Some((Some(from), Some(to)))) if from > to => {
                return Err(format!("the range goes backwards; write {from}-{} and {}-{to}", self.last, self.first));
            }
            (_, Some((Some(from), Some(to)))) => (from, to),
            _ if step.is_some() => return Err("steps need * or a range, such as */5 or 10-50/5".to_owned()),
            _ => return self.check_special(base),
        };
        match step.map(str::parse::<u32>) {
            None => Ok(()),
            Some(Ok(0)) => Err("a step must be at least 1".to_owned()),
            Some(Ok(step)) if step > u32::from(to - from) => {
                Err(format!("a step of {step} is larger than the range {from}-{to} and would only ever match {from}"))
            }
            Some(Ok(_)) => Ok(()),
            Some(Err(_)) => Err("a step must be a number".to_owned()),
        }
    }

    /// Letters and signs that only some fields know stand in a certain place.
    fn check_special(&self, item: &str) -> Result<(), String> {
        let is_day = |text: &str| self.number(text).is_some();
        match (item.contains('#'), item.trim_end_matches(['L', 'W'])) {
            (true, _) if item.contains('L') => Err("# and L cannot be combined".to_owned()),
            (false, "") if item == "L" && self.last == 7 => {
                Err("L needs a day before it: 5L is the last Friday".to_owned())
            }
            (false, _) if matches!(item, "L" | "LW") => Ok(()),
            (false, day) if item.len() > day.len() && (item.len() > day.len() + 1 || !is_day(day)) => {
                Err("L and W follow a single number, or stand alone as L or LW".to_owned())
            }
            (true | false, _) => Ok(()),
        }
    }

    /// A number of this field.
    fn number(&self, text: &str) -> Option<u8> {
        text.parse().ok().filter(|number| (self.first..=self.last).contains(number))
    }

    /// A Sunday that ends a range ends the week.
    fn number_of(&self, word: &str, ends_range: bool) -> Option<u8> {
        let index = self.names.iter().position(|name| *name == word)?;
        if index == 0 && self.first == 0 && ends_range {
            return Some(7);
        }
        u8::try_from(index).ok().map(|index| index + self.first)
    }

    fn wrong(&self, text: &str, why: &str) -> ScheduleError {
        ScheduleError::Field { field: self.name, text: text.to_owned(), why: why.to_owned(), range: self.range }
    }
}

/// Finds out which field is to blame, by trying each alone.
fn blame(fields: &[String], why: &str) -> ScheduleError {
    let alone = |index: usize| {
        let mut others = ["*"; 6];
        others[index] = &fields[index];
        parser(false).parse(&others.join(" ")).err()
    };
    let found = FIELDS.iter().enumerate().find_map(|(index, field)| {
        let error = alone(index)?.to_string();
        let why = error.strip_prefix("Component error: ").unwrap_or(&error).trim_end_matches('.');
        Some(field.wrong(&fields[index], &lower_first(why)))
    });
    found.unwrap_or_else(|| FIELDS[0].wrong(&fields.join(" "), why))
}

/// What others say as a sentence becomes part of ours.
fn lower_first(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
