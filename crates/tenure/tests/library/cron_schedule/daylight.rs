//! What happens to jobs when clocks are changed, by example.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use tenure::cron::{Calendar, Schedule, Tick};

fn tick(time: &str) -> Tick {
    let time: Zoned = time.parse().unwrap();
    Tick::from_unix_s(u64::try_from(time.timestamp().as_second()).unwrap())
}

/// The ticks of an expression on one day, as a clock on the wall shows them.
fn on(day: &str, expression: &str, zone: &str) -> Vec<String> {
    let schedule = Schedule::new(expression, zone).unwrap();
    let from = tick(&format!("{day}T00:00[{zone}]"));
    let start = Tick::from_unix_s(from.unix_s() - 1);
    let shown = |tick: Tick| {
        let timestamp = Timestamp::from_second(i64::try_from(tick.unix_s()).unwrap()).unwrap();
        timestamp.to_zoned(TimeZone::get(zone).unwrap())
    };
    let ticks = schedule.ticks_after(start).map(shown).take_while(|time| time.date().to_string() == day);
    ticks.map(|time| time.strftime("%H:%M %:z").to_string()).collect()
}

#[test]
fn a_time_that_is_left_out_comes_right_after() {
    assert_eq!(on("2030-03-31", "30 2 * * *", "Europe/Berlin"), ["03:00 +02:00"]);
    assert_eq!(on("2030-03-30", "30 2 * * *", "Europe/Berlin"), ["02:30 +01:00"]);
    assert_eq!(on("2030-04-01", "30 2 * * *", "Europe/Berlin"), ["02:30 +02:00"]);
}

#[test]
fn several_times_that_are_left_out_come_once() {
    assert_eq!(on("2030-03-31", "0,15,30 2 * * *", "Europe/Berlin"), ["03:00 +02:00"]);
    assert_eq!(on("2030-03-31", "0 1,2,3,4 * * *", "Europe/Berlin"), ["01:00 +01:00", "03:00 +02:00", "04:00 +02:00"]);
}

#[test]
fn a_time_that_is_repeated_comes_the_first_time() {
    assert_eq!(on("2030-10-27", "30 2 * * *", "Europe/Berlin"), ["02:30 +02:00"]);
    assert_eq!(on("2030-10-27", "0,30 2 * * *", "Europe/Berlin"), ["02:00 +02:00", "02:30 +02:00"]);
    assert_eq!(on("2030-11-03", "30 1 * * *", "America/New_York"), ["01:30 -04:00"]);
}

#[test]
fn what_comes_every_few_minutes_goes_by_the_wall() {
    let repeated = on("2030-10-27", "*/15 * * * *", "Europe/Berlin");
    assert_eq!(repeated.len(), 25 * 4);
    assert_eq!(repeated.iter().filter(|time| time.starts_with("02:15")).count(), 2);
    let left_out = on("2030-03-31", "*/15 * * * *", "Europe/Berlin");
    assert_eq!(left_out.len(), 23 * 4);
    assert!(!left_out.iter().any(|time| time.starts_with("02:")), "{left_out:?}");
    assert_eq!(on("2030-10-27", "@hourly", "Europe/Berlin").len(), 25);
}

#[test]
fn a_day_that_is_left_out_is_made_up_for() {
    // Samoa went over the date line: after 29 December 2011 came the 31st.
    let schedule = Schedule::new("0 12 30 12 *", "Pacific/Apia").unwrap();
    let before = tick("2011-12-29T23:59[Pacific/Apia]");
    assert_eq!(schedule.next_after(before), Some(tick("2011-12-31T00:00[Pacific/Apia]")));
    let daily = Schedule::new("0 12 * * *", "Pacific/Apia").unwrap();
    let days: Vec<Tick> = daily.ticks_after(before).take(2).collect();
    assert_eq!(days, [tick("2011-12-31T00:00[Pacific/Apia]"), tick("2011-12-31T12:00[Pacific/Apia]")]);
}

#[test]
fn half_an_hour_and_two_hours_are_changes_as_well() {
    assert_eq!(on("2030-10-06", "15 2 * * *", "Australia/Lord_Howe"), ["02:30 +11:00"]);
    assert_eq!(on("2030-04-07", "45 1 * * *", "Australia/Lord_Howe"), ["01:45 +11:00"]);
    assert_eq!(on("2030-03-31", "30 1 * * *", "Antarctica/Troll"), ["03:00 +02:00"]);
    assert_eq!(on("2030-10-27", "30 1 * * *", "Antarctica/Troll"), ["01:30 +02:00"]);
}
