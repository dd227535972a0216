//! Schedules against a model, in years and zones with all that clocks do.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tenure::cron::{Calendar, Schedule, Tick};

use super::model::ExpressionModel;

/// Whole hours, half hours, two hours, the other way round in winter, none at all, and no more since.
const ZONES: [&str; 9] = [
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "Pacific/Apia",
    "UTC",
    "Antarctica/Troll",
];

const DAY: i64 = 24 * 60 * 60;

/// 2024-01-01 and 2031-01-01.
const YEARS: (i64, i64) = (1_704_067_200, 1_924_992_000);

/// The same runs every time, unless `PROPTEST_RNG_SEED` and `PROPTEST_CASES` say otherwise.
fn config(cases: u32) -> ProptestConfig {
    let base = ProptestConfig::default();
    let rng_seed = match base.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x415),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig { rng_seed, failure_persistence: None, cases, ..base }
}

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn tick(second: i64) -> Tick {
    Tick::from_unix_s(u64::try_from(second).unwrap())
}

fn ticks(schedule: &Schedule, from: i64, until: i64) -> Vec<i64> {
    let ticks = schedule.ticks_after(tick(from - 1)).map(|tick| i64::try_from(tick.unix_s()).unwrap());
    ticks.take_while(|tick| *tick < until).collect()
}

/// The instants from 2024 to 2030 at which the clocks of a zone are changed; the beginning of each year where they are not.
fn changes(name: &str) -> Vec<i64> {
    let zone = zone(name);
    let from = Timestamp::from_second(YEARS.0).unwrap();
    let changes = zone.following(from).map(|change| change.timestamp().as_second());
    let changes: Vec<i64> = changes.take_while(|change| *change < YEARS.1).collect();
    if changes.is_empty() { (0..7).map(|year| YEARS.0 + year * 365 * DAY + DAY).collect() } else { changes }
}

/// From well before a change to well after it.
fn around(change: i64) -> (i64, i64) {
    let minute = change - change.rem_euclid(60);
    (minute - DAY / 2, minute + DAY / 2)
}

/// Shown by a clock, or meant as a time of the day; often, seldom, on some days only; just where clocks are changed.
const EXPRESSIONS: [&str; 24] = [
    "* * * * *",
    "*/15 * * * *",
    "0 * * * *",
    "7,37 * * * *",
    "0 */2 * * *",
    "*/20 2 * * *",
    "0-59/20 2 * * *",
    "30 2 * * *",
    "0 2 * * *",
    "0 3 * * *",
    "30 1 * * *",
    "15,45 0-3 * * *",
    "0 0 * * *",
    "59 23 * * *",
    "30 1,2,3 * * 0",
    "0 0-4 * * *",
    "30 2 */2 * *",
    "30 2 * * 6-7",
    "30 2 28-31 3,10 *",
    "30 2 25-31 * 0",
    "15 2 */2 * 0",
    "0 0 29 2 *",
    "0 0 1 1 1",
    "45 1 1-7 4,10,11 *",
];

#[test]
fn every_schedule_is_as_the_model_says_around_every_change_of_the_clocks() {
    let mut compared = 0;
    for name in ZONES {
        let (local, changes) = (zone(name), changes(name));
        for expression in EXPRESSIONS {
            let (schedule, model) = (Schedule::new(expression, name).unwrap(), ExpressionModel::new(expression));
            for change in &changes {
                let (from, until) = around(*change);
                let expected = model.ticks(&local, from, until);
                assert_eq!(ticks(&schedule, from, until), expected, "{expression} {name} around {change}");
                compared += expected.len();
            }
        }
    }
    assert!(compared > 100_000, "{compared} ticks show little");
}

#[test]
fn every_second_is_as_the_model_says_around_changes_of_the_clocks() {
    let expressions = ["* * * * * *", "*/7 * * * * *", "30 30 2 * * *", "0-59/15 0,30 1-3 * * *", "*/20 30 2 * * *"];
    for name in ["Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll"] {
        let local = zone(name);
        for change in changes(name).into_iter().take(4) {
            let (from, until) = (change - 3 * 60 * 60, change + 4 * 60 * 60);
            for expression in expressions {
                let (schedule, model) = (Schedule::new(expression, name).unwrap(), ExpressionModel::new(expression));
                let expected = model.ticks(&local, from, until);
                assert_eq!(ticks(&schedule, from, until), expected, "{expression} {name} around {change}");
            }
        }
    }
}

#[test]
fn a_whole_year_is_as_the_model_says() {
    for (name, expression) in [("Europe/Berlin", "30 2 * * *"), ("Australia/Lord_Howe", "*/30 * * * *")] {
        let (schedule, model) = (Schedule::new(expression, name).unwrap(), ExpressionModel::new(expression));
        let (from, until) = (YEARS.0, YEARS.0 + 366 * DAY);
        let expected = model.ticks(&zone(name), from, until);
        assert_eq!(ticks(&schedule, from, until), expected, "{expression} {name}");
        assert!(expected.len() >= 366);
    }
}

fn number(min: u8, max: u8) -> impl Strategy<Value = String> {
    (min..=max).prop_map(|number| number.to_string())
}

fn range(min: u8, max: u8) -> impl Strategy<Value = String> {
    (min..=max, min..=max).prop_map(|(one, other)| format!("{}-{}", one.min(other), one.max(other)))
}

/// Anything that may stand in a field.
fn field(min: u8, max: u8) -> impl Strategy<Value = String> {
    // A step larger than its range is refused.
    let steps = (min..max, 1..max.min(59) - min, any::<bool>()).prop_map(move |(from, by, every)| {
        let to = from.saturating_add(by).min(max);
        if every { format!("*/{by}") } else { format!("{from}-{max}/{}", to - from) }
    });
    let list = proptest::collection::vec(prop_oneof![number(min, max), range(min, max)], 1..4);
    prop_oneof![
        4 => Just("*".to_owned()),
        4 => number(min, max),
        2 => steps,
        2 => list.prop_map(|items| items.join(",")),
    ]
}

/// The night is where clocks are changed.
fn expression() -> impl Strategy<Value = String> {
    let hour = prop_oneof![2 => field(0, 4), 1 => field(0, 23)];
    // Days that every month has, so that no expression never comes.
    let days = prop_oneof![3 => Just("*".to_owned()), 1 => field(1, 28)];
    let weekdays = prop_oneof![3 => Just("*".to_owned()), 1 => field(0, 7)];
    (field(0, 59), hour, days, field(1, 12), weekdays)
        .prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"))
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn any_expression_is_as_the_model_says(
        expression in expression(),
        name in proptest::sample::select(&ZONES[..]),
        change in any::<proptest::sample::Index>(),
    ) {
        let (schedule, model) = (Schedule::new(&expression, name).unwrap(), ExpressionModel::new(&expression));
        let changes = changes(name);
        let change = changes[change.index(changes.len())];
        let (from, until) = around(change);
        prop_assert_eq!(ticks(&schedule, from, until), model.ticks(&zone(name), from, until));
    }

    #[test]
    fn the_next_and_the_last_tick_agree(
        expression in expression(),
        name in proptest::sample::select(&ZONES[..]),
        second in YEARS.0..YEARS.1,
        change in any::<proptest::sample::Index>(),
        near in proptest::option::of(-4 * 60 * 60_i64..4 * 60 * 60),
    ) {
        let schedule = Schedule::new(&expression, name).unwrap();
        let changes = changes(name);
        let now = tick(near.map_or(second, |near| changes[change.index(changes.len())] + near));
        let next = schedule.next_after(now).unwrap();
        prop_assert!(next > now, "it goes on");
        prop_assert_eq!(schedule.last_until(next), Some(next), "a tick is the last until itself");
        let last = schedule.last_until(now).unwrap();
        prop_assert!(last <= now);
        prop_assert_eq!(schedule.next_after(last), Some(next), "there is nothing between the two");
        let before = Tick::from_unix_s(next.unix_s() - 1);
        prop_assert_eq!(schedule.last_until(before), Some(last), "nor right before the next");
    }
}
