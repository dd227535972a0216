//! Reading single values. No message repeats a value that may be a secret.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::CrontabError;
use crate::duration;
use crate::message::on_one_line;

pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// Collects what is wrong, while values are read.
pub(super) struct Reader<'t> {
    text: &'t str,
    job: Option<String>,
    errors: Vec<CrontabError>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, job: None, errors: Vec::new() }
    }

    /// From here on this job is read, or none.
    pub(super) fn set_job(&mut self, job: Option<&str>) {
        self.job = job.map(str::to_owned);
    }

    /// How much has been found to be wrong so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.len()
    }

    /// What is wrong, in the order of lines.
    pub(super) fn into_errors(mut self) -> Vec<CrontabError> {
        self.errors.sort_by_key(|error| error.line);
        self.errors
    }

    pub(super) fn complain(&mut self, at: Option<Range<usize>>, message: impl Into<String>) {
        let line = at.map(|at| 1 + self.text.bytes().take(at.start).filter(|byte| *byte == b'\n').count());
        self.errors.push(CrontabError { line, job: self.job.clone(), message: message.into() });
    }

    /// The value, if it could be read; what is wrong with it is written down.
    pub(super) fn take<T>(&mut self, key: &str, value: &Value<'_>, read: Result<T, String>) -> Option<T> {
        read.map_err(|message| self.complain(Some(value.span()), format!("`{key}` {message}"))).ok()
    }

    /// A key that nobody knows here.
    pub(super) fn unknown(&mut self, key: &Spanned<impl AsRef<str>>, known: &[&str]) {
        let message = format!("unknown key `{}`; use {}", on_one_line(key.as_ref().as_ref()), known.join(", "));
        self.complain(Some(key.span()), message);
    }

    pub(super) fn table<'v, 'i>(&mut self, key: &str, value: &'v Value<'i>) -> Option<&'v DeTable<'i>> {
        self.take(key, value, value.as_ref().as_table().ok_or_else(|| must_be("a table", value)))
    }

    pub(super) fn text(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        self.take(key, value, text(value))
    }

    pub(super) fn truth(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        self.take(key, value, value.as_ref().as_bool().ok_or_else(|| must_be("true or false", value)))
    }

    pub(super) fn duration(&mut self, key: &str, value: &Value<'_>) -> Option<Duration> {
        let read = text(value).and_then(|text| {
            duration::parse(&text).map_err(|error| format!("cannot be \"{}\": {error}", on_one_line(&text)))
        });
        self.take(key, value, read)
    }

    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self, key: &str, value: &Value<'_>) -> Option<T> {
        let read =
            text(value).and_then(|text| text.parse().map_err(|error: T::Err| format!("cannot be used: {error}")));
        self.take(key, value, read)
    }
}

/// A text that the operating system can be given.
pub(super) fn text(value: &Value<'_>) -> Result<String, String> {
    match value.as_ref().as_str() {
        None => Err(must_be("a string", value)),
        Some(text) if text.contains('\0') => {
            Err("contains a NUL character, which cannot be passed to a command".to_owned())
        }
        Some(text) => Ok(text.to_owned()),
    }
}

pub(super) fn must_be(what: &str, value: &Value<'_>) -> String {
    format!("must be {what}, but is of type {}", value.as_ref().type_str())
}
