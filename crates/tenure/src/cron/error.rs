//! What is wrong with a schedule, and what to do about it.

/// A schedule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// There is nothing.
    #[error("the cron expression is empty; write five fields, such as `30 4 * * *` for half past four every day")]
    Empty,
    /// It has a wrong number of fields.
    #[error(
        "a cron expression has five fields (minute, hour, day of the month, month, day of the week), or six with seconds \
         first, but here are {count}"
    )]
    Fields {
        /// How many it has.
        count: usize,
    },
    /// One field cannot be understood.
    #[error(
        "the {field} of the cron expression cannot be {text:?}: {why}; it may be {range}, `*`, a list, a range or steps"
    )]
    Field {
        /// Which one.
        field: &'static str,
        /// What it says.
        text: String,
        /// What is wrong with it.
        why: String,
        /// What it may be.
        range: &'static str,
    },
    /// Nobody knows this nickname.
    #[error(
        "{text:?} is not known; use @yearly, @monthly, @weekly, @daily or @hourly, or five fields: `*/5 * * * *` is every \
         five minutes"
    )]
    Nickname {
        /// What it says.
        text: String,
    },
    /// It is longer than any cron expression has to be.
    #[error("a cron expression of {bytes} bytes is a mistake")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// No day is ever like this.
    #[error("`{expression}` never comes: there is no such day; look at the day of the month and the month")]
    Never {
        /// The expression.
        expression: String,
    },
    /// Nobody knows this time zone.
    #[error("the time zone {name:?} is not known; use a name such as `Europe/Berlin` or `UTC`{hint}")]
    Zone {
        /// Its name.
        name: String,
        /// What may have been meant.
        hint: String,
    },
}
