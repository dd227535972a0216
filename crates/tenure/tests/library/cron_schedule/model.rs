//! The documented rules, in the plainest way: walking through time second by second, or minute by minute. It shares no code
//! with what it judges.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// An expression of six numeric fields, read in the plainest way.
#[derive(Debug)]
pub(crate) struct ExpressionModel {
    fields: Vec<Vec<i8>>,
    /// Both days have to be right.
    both_days: bool,
    goes_by_the_wall: bool,
    /// Between two looks, in seconds.
    step: i64,
}

const RANGES: [(i8, i8); 6] = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];

impl ExpressionModel {
    pub(crate) fn new(expression: &str) -> Self {
        let mut texts: Vec<&str> = expression.split_whitespace().collect();
        let step = if texts.len() == 5 { 60 } else { 1 };
        if texts.len() == 5 {
            texts.insert(0, "0");
        }
        let fields = texts.iter().zip(RANGES).map(|(text, range)| numbers(text, range)).collect();
        let begins_with_star = |index: usize| texts[index].starts_with('*');
        Self {
            fields,
            both_days: begins_with_star(3) || begins_with_star(5),
            goes_by_the_wall: (0..3).any(begins_with_star),
            step,
        }
    }

    /// All ticks from the first second to before the last one, which are multiples of a minute.
    pub(crate) fn ticks(&self, zone: &TimeZone, from: i64, until: i64) -> Vec<i64> {
        let shown = |second: i64| zone.to_datetime(Timestamp::from_second(second).unwrap());
        let mut ticks = Vec::new();
        // The latest time that any clock has shown.
        let mut latest = shown(from - self.step);
        for second in (from..until).step_by(usize::try_from(self.step).unwrap()) {
            let now = shown(second);
            let is_tick = if self.goes_by_the_wall {
                self.matches(now)
            } else {
                // Whatever the clock has shown since, or has left out.
                let mut new = latest;
                let mut any = false;
                while new < now {
                    new = new.checked_add(jiff::SignedDuration::from_secs(self.step)).unwrap();
                    any |= self.matches(new);
                }
                any
            };
            latest = latest.max(now);
            if is_tick {
                ticks.push(second);
            }
        }
        ticks
    }

    fn matches(&self, shown: DateTime) -> bool {
        let has = |field: usize, value: i8| self.fields[field].contains(&value);
        let weekday = shown.weekday().to_sunday_zero_offset();
        let (day, weekday) = (has(3, shown.day()), has(5, weekday) || weekday == 0 && has(5, 7));
        let days = if self.both_days { day && weekday } else { day || weekday };
        has(0, shown.second()) && has(1, shown.minute()) && has(2, shown.hour()) && has(4, shown.month()) && days
    }
}

fn numbers(text: &str, (min, max): (i8, i8)) -> Vec<i8> {
    let item = |item: &str| -> Vec<i8> {
        let (range, step) = item.split_once('/').unwrap_or((item, "1"));
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (min, max),
            Some((first, last)) => (first.parse().unwrap(), last.parse().unwrap()),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        (first..=last).step_by(step.parse().unwrap()).collect()
    };
    text.split(',').flat_map(item).collect()
}
