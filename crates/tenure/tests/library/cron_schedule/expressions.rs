//! What expressions mean, and what is said about those that mean nothing.

use jiff::Timestamp;
use tenure::cron::{Calendar, Schedule, ScheduleError, Tick};

/// 2030-01-01 00:00:00 UTC, a Tuesday.
const NEW_YEAR: Tick = Tick::from_unix_s(1_893_456_000);

fn utc(expression: &str) -> Schedule {
    expression.parse().unwrap()
}

/// The first ticks after the new year.
fn first(expression: &str, count: usize) -> Vec<String> {
    let shown = |tick: Tick| Timestamp::from_second(i64::try_from(tick.unix_s()).unwrap()).unwrap().to_string();
    utc(expression).ticks_after(NEW_YEAR).take(count).map(shown).collect()
}

fn error(expression: &str) -> String {
    expression.parse::<Schedule>().unwrap_err().to_string()
}

#[test]
fn fields_mean_what_they_mean_in_every_cron() {
    assert_eq!(first("30 4 * * *", 2), ["2030-01-01T04:30:00Z", "2030-01-02T04:30:00Z"]);
    assert_eq!(first("*/20 * * * *", 2), ["2030-01-01T00:20:00Z", "2030-01-01T00:40:00Z"]);
    assert_eq!(
        first("10-50/40 9,17 * * *", 3),
        ["2030-01-01T09:10:00Z", "2030-01-01T09:50:00Z", "2030-01-01T17:10:00Z"]
    );
    assert_eq!(first("0 0 * feb-mar mon-fri", 1), ["2030-02-01T00:00:00Z"]);
    assert_eq!(first("0 0 * * SUN", 1), first("0 0 * * 7", 1));
    assert_eq!(first("0 0 * * SAT-SUN", 3), ["2030-01-05T00:00:00Z", "2030-01-06T00:00:00Z", "2030-01-12T00:00:00Z"]);
    assert_eq!(first("*/59 * * * *", 2), ["2030-01-01T00:59:00Z", "2030-01-01T01:00:00Z"], "the largest step");
    assert_eq!(first("*/20 * * * * *", 2), ["2030-01-01T00:00:20Z", "2030-01-01T00:00:40Z"]);
    assert_eq!(first("15 30 4 * * *", 1), ["2030-01-01T04:30:15Z"]);
}

#[test]
fn days_are_right_for_one_field_or_for_both() {
    assert_eq!(first("0 0 13 * FRI", 2), ["2030-01-04T00:00:00Z", "2030-01-11T00:00:00Z"], "either");
    assert_eq!(
        first("0 0 */2 * FRI", 2),
        ["2030-01-11T00:00:00Z", "2030-01-25T00:00:00Z"],
        "both, as it begins with *"
    );
    assert_eq!(first("0 0 ? * FRI", 1), ["2030-01-04T00:00:00Z"], "? is another *");
}

#[test]
fn special_days_can_be_named() {
    assert_eq!(first("0 0 L * *", 2), ["2030-01-31T00:00:00Z", "2030-02-28T00:00:00Z"]);
    assert_eq!(first("0 0 LW * *", 2), ["2030-01-31T00:00:00Z", "2030-02-28T00:00:00Z"]);
    assert_eq!(first("0 0 13W * *", 1), ["2030-01-14T00:00:00Z"], "the 13th is a Sunday");
    assert_eq!(first("0 0 * * FRI#2", 1), ["2030-01-11T00:00:00Z"]);
    assert_eq!(first("0 0 * * 5L", 1), ["2030-01-25T00:00:00Z"]);
    assert_eq!(first("0 0 29 2 *", 1), ["2032-02-29T00:00:00Z"]);
}

#[test]
fn nicknames_are_known_however_they_are_written() {
    for (nickname, meaning) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@Daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        (" @hourly ", "0 * * * *"),
    ] {
        assert_eq!(utc(nickname), utc(meaning), "{nickname}");
        assert_eq!(utc(nickname).expression(), meaning);
    }
}

#[test]
fn the_same_schedule_is_written_down_the_same() {
    for text in ["0 9 * 1 1-5", "  0\t9 *  JAN mon-FRI ", "0 0 9 ? jan 1-5"] {
        let schedule = Schedule::new(text, "europe/berlin").unwrap();
        assert_eq!(schedule.to_string(), "0 9 * 1 1-5 Europe/Berlin");
        assert_eq!((schedule.expression(), schedule.time_zone()), ("0 9 * 1 1-5", "Europe/Berlin"));
    }
    assert_eq!(utc("30 0 9 * * *").to_string(), "30 0 9 * * * UTC");
    assert_ne!(utc("0 9 * * *"), utc("0 9 * * *").in_zone("Europe/London").unwrap());
}

#[test]
fn a_wrong_field_is_named() {
    for (expression, field) in [
        ("60 * * * * *", "second"),
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of the month"),
        ("* * 32 * *", "day of the month"),
        ("* * * 13 *", "month"),
        ("* * * * 8", "day of the week"),
        ("* * * MON *", "month"),
        ("* * * * JAN", "day of the week"),
        ("* * * * MONDAY", "day of the week"),
        ("5/15 * * * *", "minute"),
        ("*/0 * * * *", "minute"),
        ("30-10 * * * *", "minute"),
        ("1,,2 * * * *", "minute"),
        ("* L * * *", "hour"),
        ("* * L,15 * *", "day of the month"),
        ("é * * * *", "minute"),
        ("- * * * *", "minute"),
        ("*/99 * * * *", "minute"),
        ("*/60 * * * * *", "second"),
        ("*/60 * * * *", "minute"),
        ("1-5/10 * * * *", "minute"),
        ("* */24 * * *", "hour"),
        ("* * */32 * *", "day of the month"),
        ("* * * */13 *", "month"),
        ("* * * * */8", "day of the week"),
        ("* * * * */7", "day of the week"),
        ("*/99999999999 * * * *", "minute"),
        ("*/-1 * * * *", "minute"),
        ("* * ?/2 * *", "day of the month"),
        ("* * 15WL * *", "day of the month"),
        ("* * LL * *", "day of the month"),
        ("* * * * 1#2L", "day of the week"),
        ("* * * * L", "day of the week"),
        ("* * * * FRI-MON", "day of the week"),
        ("* * * NOV-FEB *", "month"),
    ] {
        let said = error(expression);
        assert!(said.starts_with(&format!("invalid {field} \"")), "{expression}: {said}");
    }
    assert_eq!(
        error("*/99 * * * *"),
        "invalid minute \"*/99\" in the cron expression: a step of 99 is larger than the range 0-59 and would only ever \
         match 0; use 0-59, `*`, a list, a range or steps"
    );
    assert!(error("* * * NOV-FEB *").contains("the range goes backwards; write 11-12 and 1-2"));
    assert_eq!(
        error("* 24 * * *"),
        "invalid hour \"24\" in the cron expression: number out of bounds; use 0-23, `*`, a list, a range or steps"
    );
}

#[test]
fn what_is_no_expression_is_refused_with_advice() {
    assert!(error("").contains("30 4 * * *"));
    assert!(error("* * *").contains("this one has 3"));
    assert!(error("* * * * * * *").contains("this one has 7"));
    assert!(error("@reboot").contains("@daily"));
    assert!(error("@every 90s").contains("*/5 * * * *"));
    assert!(error("0 0 30 2 *").contains("never matches"));
    assert!(error("0 0 31 4,6,9,11 *").contains("never matches"));
    assert!(matches!(" *".repeat(1_000).parse::<Schedule>(), Err(ScheduleError::TooLong { .. })));
}

#[test]
fn an_unknown_time_zone_gets_a_hint() {
    let hint = |zone: &str| Schedule::new("@daily", zone).unwrap_err().to_string();
    assert!(hint("Berlin").ends_with("did you mean `Europe/Berlin`?"), "{}", hint("Berlin"));
    assert!(hint("new york").contains("`America/New_York`"), "{}", hint("new york"));
    assert!(hint("Europe/Berln").contains("`Europe/Berlin`"), "{}", hint("Europe/Berln"));
    assert!(hint("Mars/Olympus").ends_with("`Europe/Berlin` or `UTC`"), "{}", hint("Mars/Olympus"));
    assert!(hint("").contains("unknown time zone"), "{}", hint(""));
    assert!(hint("Etc/Unknown").contains("unknown time zone"), "{}", hint("Etc/Unknown"));
}

#[test]
fn a_schedule_ends_where_time_does() {
    let daily = utc("@daily");
    assert_eq!(daily.next_after(Tick::MAX), None);
    let last = daily.last_until(Tick::MAX).unwrap();
    assert_eq!(daily.next_after(last), None, "nothing follows the last one");
    assert_eq!(daily.last_until(Tick::from_unix_s(0)), Some(Tick::from_unix_s(0)));
    assert_eq!(utc("30 4 * * *").last_until(Tick::from_unix_s(0)), None, "there was none before the epoch");
}
