//! Conversion of local times to instants. Both are in seconds: instants since the Unix epoch, and local times as if they were
//! UTC.

use croner::Cron;
use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use tenure_core::jobs::Tick;

/// No schedule is followed beyond the year 4999.
pub(super) const END: i64 = 95_617_584_000;
/// The time that is shown before all others.
pub(super) const BEGINNING: i64 = -1;

/// The clocks on the walls of one time zone.
#[derive(Debug, Clone)]
pub(super) struct ZonedClock(TimeZone);

impl ZonedClock {
    pub(super) fn new(zone: TimeZone) -> Self {
        Self(zone)
    }

    pub(super) fn zone_name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The first instant after this one at which such a time is shown.
    pub(super) fn next_shown(&self, cron: &Cron, after: i64) -> Option<i64> {
        let mut from = after + 1;
        loop {
            let offset = self.offset_at(from)?;
            let at = next_civil(cron, from + offset - 1)? - offset;
            match self.change_after(from) {
                Some(change) if change <= at => from = change,
                _ => return Some(at),
            }
        }
    }

    /// The last instant up to this one at which such a time is shown.
    pub(super) fn last_shown(&self, cron: &Cron, until: i64) -> Option<i64> {
        let mut until = until;
        loop {
            let offset = self.offset_at(until)?;
            let at = last_civil(cron, until + offset)? - offset;
            match self.change_until(until) {
                Some(change) if at < change => until = change - 1,
                _ => return Some(at),
            }
        }
    }

    /// The first instant after this one that stands for such a time.
    pub(super) fn next_named(&self, cron: &Cron, after: i64) -> Option<i64> {
        let mut civil = after + self.offset_at(after)?;
        loop {
            civil = next_civil(cron, civil)?;
            // Times that are shown a second time have had their instant.
            if let Some(at) = self.stands_for(civil).filter(|at| *at > after) {
                return Some(at);
            }
        }
    }

    /// The last instant up to this one that stands for such a time.
    pub(super) fn last_named(&self, cron: &Cron, until: i64) -> Option<i64> {
        let offset = self.offset_at(until)?;
        let mut civil = until + offset;
        if let AmbiguousOffset::Fold { before, after } = self.ambiguity(civil)?
            && offset == seconds(after)
        {
            // Later times than the one that is shown have been shown already.
            civil += seconds(before) - seconds(after);
        }
        loop {
            civil = last_civil(cron, civil)?;
            if let Some(at) = self.stands_for(civil).filter(|at| *at <= until) {
                return Some(at);
            }
            civil -= 1;
        }
    }

    /// The one instant that stands for a time: the first at which it is shown, or the end of the gap it is in.
    fn stands_for(&self, civil: i64) -> Option<i64> {
        match self.ambiguity(civil)? {
            AmbiguousOffset::Unambiguous { offset } => Some(civil - seconds(offset)),
            AmbiguousOffset::Fold { before, .. } => Some(civil - seconds(before)),
            AmbiguousOffset::Gap { after, .. } => self.change_after(civil - seconds(after)),
        }
    }

    fn ambiguity(&self, civil: i64) -> Option<AmbiguousOffset> {
        let shown = Offset::UTC.to_datetime(timestamp(civil)?);
        Some(self.0.to_ambiguous_timestamp(shown).offset())
    }

    fn offset_at(&self, instant: i64) -> Option<i64> {
        Some(seconds(self.0.to_offset(timestamp(instant)?)))
    }

    fn change_after(&self, instant: i64) -> Option<i64> {
        self.0.following(timestamp(instant)?).next().map(|change| change.timestamp().as_second())
    }

    fn change_until(&self, instant: i64) -> Option<i64> {
        self.0.preceding(timestamp(instant + 1)?).next().map(|change| change.timestamp().as_second())
    }
}

/// The next matching time after this one, on a clock whose days all have 24 hours.
pub(super) fn next_civil(cron: &Cron, after: i64) -> Option<i64> {
    let after = timestamp(after)?.to_zoned(TimeZone::UTC);
    cron.find_next_occurrence(&after, false).ok().map(|next| next.timestamp().as_second()).filter(|next| *next < END)
}

/// The last matching time up to this one, on the same clock.
fn last_civil(cron: &Cron, until: i64) -> Option<i64> {
    let until = timestamp(until)?.to_zoned(TimeZone::UTC);
    cron.find_previous_occurrence(&until, true).ok().map(|last| last.timestamp().as_second())
}

/// The instant of a tick, if it is before the end of all schedules.
pub(super) fn instant(tick: Tick) -> Option<i64> {
    i64::try_from(tick.unix_s()).ok().filter(|instant| *instant < END)
}

/// The tick of an instant, if it is not before the first.
pub(super) fn tick(instant: i64) -> Option<Tick> {
    u64::try_from(instant).ok().map(Tick::from_unix_s)
}

fn timestamp(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_second(seconds).ok()
}

fn seconds(offset: Offset) -> i64 {
    i64::from(offset.seconds())
}
