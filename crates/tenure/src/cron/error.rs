//! Errors in schedules, with advice.

use super::expression::MAX_LENGTH;

/// A cron expression or a time zone that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The expression is empty.
    #[error("the cron expression is empty; write five fields, such as `30 4 * * *` for half past four every day")]
    Empty,
    /// The expression has a wrong number of fields.
    #[error(
        "a cron expression has five fields (minute, hour, day of the month, month, day of the week), or six with seconds \
         first; this one has {count}"
    )]
    Fields {
        /// The number of fields.
        count: usize,
    },
    /// A field cannot be parsed.
    #[error("invalid {field} {text:?} in the cron expression: {why}; use {range}, `*`, a list, a range or steps")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The text of the field.
        text: String,
        /// The reason it is invalid.
        why: String,
        /// The allowed values.
        range: &'static str,
    },
    /// The nickname is unknown.
    #[error(
        "unknown nickname {text:?}; use @yearly, @monthly, @weekly, @daily or @hourly, or five fields: `*/5 * * * *` is every \
         five minutes"
    )]
    Nickname {
        /// The nickname.
        text: String,
    },
    /// The expression is too long.
    #[error("the cron expression is too long: {bytes} bytes; at most {MAX_LENGTH} are allowed")]
    TooLong {
        /// The length of the expression.
        bytes: usize,
    },
    /// The expression never matches.
    #[error("`{expression}` never matches, because no such day exists; check the day of the month and the month")]
    Never {
        /// The expression.
        expression: String,
    },
    /// The time zone is unknown.
    #[error("unknown time zone {name:?}; use a name such as `Europe/Berlin` or `UTC`{hint}")]
    Zone {
        /// The name of the time zone.
        name: String,
        /// Similar names, as the end of a sentence.
        hint: String,
    },
}
