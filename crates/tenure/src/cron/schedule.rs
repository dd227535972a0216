//! Schedules: cron expressions in a time zone.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tenure_core::jobs::{Calendar, Tick};

use super::error::ScheduleError;
use super::expression::Expression;
use super::local::ZonedClock;
use super::zone;

/// The schedule of a job: a cron expression in a time zone.
///
/// An expression has five fields (minute, hour, day of the month, month, day of the week), or six with seconds first. Each is
/// `*`, a number, a range (`9-17`), steps (`*/5`, `10-50/10`), or a list of those; months and days of the week have names
/// (`JAN`, `MON`), and Sunday is 0 or 7. The last day of the month is `L`, the weekday nearest to the 15th `15W`, the second
/// Friday `FRI#2`, the last one `5L`. `@yearly`, `@monthly`, `@weekly`, `@daily` and `@hourly` are known. If neither the day of
/// the month nor the day of the week begins with `*`, a day matches if one of them does.
///
/// # Daylight saving
/// As in the cron of Vixie, Debian and others:
/// - An expression whose second, minute or hour begins with a `*` matches whenever a clock on the wall shows such a time.
///   `*/15 * * * *` comes four times in every real hour: also in an hour that is repeated, and never in one that is left out.
/// - Any other names **times of the day**, and each comes once a day. In an hour that is repeated it comes the first time.
///   From an hour that is left out it comes right after it: `30 2 * * *` at 3:00. If several were left out, or the clock shows
///   such a time right then, that is one tick.
///
/// ```
/// use tenure::cron::{Schedule, Tick};
///
/// let schedule = Schedule::new("30 2 * * *", "Europe/Berlin")?;
/// assert_eq!(schedule.to_string(), "30 2 * * * Europe/Berlin");
/// // On 31 March 2030 there is no half past two in Berlin: 1:00 UTC is the end of the hour that is left out.
/// let mut ticks = schedule.ticks_after(Tick::from_unix_s(1_901_102_400)); // 30 March, 12:00 UTC
/// assert_eq!(ticks.next(), Some(Tick::from_unix_s(1_901_102_400 + 13 * 3600)));
/// // The next day it is half past two again, which is 0:30 UTC by now.
/// assert_eq!(ticks.next(), Some(Tick::from_unix_s(1_901_102_400 + 36 * 3600 + 1800)));
/// # Ok::<(), tenure::cron::ScheduleError>(())
/// ```
#[derive(Clone)]
pub struct Schedule {
    expression: Expression,
    local: ZonedClock,
    /// The same text for the same schedule, as far as that is easy to tell.
    text: Arc<str>,
}

impl Schedule {
    /// Parses a cron expression in a time zone of the IANA database, such as `Europe/Berlin` or `UTC`.
    ///
    /// The time zone is looked up in the system's database, or, where there is none, in a built-in one.
    ///
    /// # Errors
    /// When the expression is invalid or never matches, or the time zone is unknown.
    pub fn new(expression: &str, time_zone: &str) -> Result<Self, ScheduleError> {
        let expression = Expression::parse(expression)?;
        if super::local::next_civil(&expression.cron, super::local::BEGINNING).is_none() {
            return Err(ScheduleError::Never { expression: expression.text });
        }
        Ok(Self::of(expression, zone::find(time_zone)?))
    }

    /// Returns the same expression in another time zone.
    ///
    /// # Errors
    /// When the time zone is unknown.
    pub fn in_zone(&self, time_zone: &str) -> Result<Self, ScheduleError> {
        Ok(Self::of(self.expression.clone(), zone::find(time_zone)?))
    }

    /// Returns the expression in its normal form, which is the same for all ways to write the same fields.
    #[must_use]
    pub fn expression(&self) -> &str {
        &self.expression.text
    }

    /// Returns the name of the time zone.
    #[must_use]
    pub fn time_zone(&self) -> &str {
        self.local.zone_name()
    }

    /// Returns the ticks after this one, in order.
    pub fn ticks_after(&self, tick: Tick) -> impl Iterator<Item = Tick> + '_ {
        std::iter::successors(self.next_after(tick), |tick| self.next_after(*tick))
    }

    /// Expression and time zone, as they are written down.
    pub(super) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    fn of(expression: Expression, zone: jiff::tz::TimeZone) -> Self {
        let local = ZonedClock::new(zone);
        let text = format!("{} {}", expression.text, local.zone_name()).into();
        Self { expression, local, text }
    }
}

impl Calendar for Schedule {
    fn next_after(&self, tick: Tick) -> Option<Tick> {
        let Expression { cron, is_fixed, .. } = &self.expression;
        let after = super::local::instant(tick)?;
        let next = if *is_fixed { self.local.next_named(cron, after) } else { self.local.next_shown(cron, after) };
        next.and_then(super::local::tick)
    }

    fn last_until(&self, tick: Tick) -> Option<Tick> {
        let Expression { cron, is_fixed, .. } = &self.expression;
        let until = super::local::instant(tick).unwrap_or(super::local::END);
        let last = if *is_fixed { self.local.last_named(cron, until) } else { self.local.last_shown(cron, until) };
        last.and_then(super::local::tick)
    }
}

/// Parses an expression in UTC.
impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(expression: &str) -> Result<Self, ScheduleError> {
        Self::new(expression, zone::DEFAULT)
    }
}

/// Writes the expression and the time zone.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedule").field(&self.text).finish()
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Schedule {}
