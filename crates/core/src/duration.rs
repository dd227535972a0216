//! Durations as people write them.

use std::time::Duration;

/// Reads `15s`, `500ms`, `1.5h`, and several parts from the largest unit to the smallest, such as `2m05s`.
///
/// # Errors
/// When the text is not a positive number with a unit.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::duration::parse;
///
/// assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
/// assert_eq!(parse("2m05s"), Ok(Duration::from_secs(125)));
/// assert!(parse("15").is_err());
/// ```
pub fn parse(text: &str) -> Result<Duration, String> {
    let (mut rest, mut units, mut nanos) = (text, UNITS, 0_u128);
    loop {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(unit_at);
        let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let position = units.iter().position(|(name, _)| *name == unit).ok_or(EXPECTED)?;
        nanos = nanos.checked_add(nanos_of(number, units[position].1)?).ok_or(TOO_LONG)?;
        (rest, units) = (next, &units[position + 1..]);
        if rest.is_empty() {
            return from_nanos(nanos).ok_or_else(|| TOO_LONG.to_owned());
        }
    }
}

/// Formats a duration as [`parse`] reads it, rounded for people.
#[must_use]
pub fn show(duration: Duration) -> String {
    let rounded = |unit: u128| (duration.as_nanos() + unit / 2) / unit;
    let (millis, tenths) = (rounded(MILLI), rounded(SECOND / 10));
    let (seconds, minutes) = (rounded(SECOND), rounded(MINUTE));
    if millis < 1000 {
        format!("{millis}ms")
    } else if tenths < 600 {
        format!("{}.{}s", tenths / 10, tenths % 10)
    } else if seconds < 3600 {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    } else {
        format!("{}h{:02}m", minutes / 60, minutes % 60)
    }
}

/// A decimal number of units. Its whole part is exact, however long it is.
fn nanos_of(number: &str, unit: u128) -> Result<u128, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = number.contains(|c: char| c.is_ascii_digit()) && !fraction.contains('.');
    if !is_number {
        return Err(EXPECTED);
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| TOO_LONG)? };
    // Beyond these digits even an hour has no whole nanosecond.
    let digits = &fraction[..fraction.len().min(MAX_FRACTION_DIGITS)];
    let parts: u128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| EXPECTED)? };
    let part_of_unit = 10_u128.pow(u32::try_from(digits.len()).map_err(|_| EXPECTED)?);
    let whole = whole.checked_mul(unit).ok_or(TOO_LONG)?;
    whole.checked_add((parts * unit + part_of_unit / 2) / part_of_unit).ok_or(TOO_LONG)
}

fn from_nanos(nanos: u128) -> Option<Duration> {
    let seconds = u64::try_from(nanos / SECOND).ok()?;
    Some(Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(nanos % SECOND).ok()?))
}

const MILLI: u128 = 1_000_000;
const SECOND: u128 = 1_000 * MILLI;
const MINUTE: u128 = 60 * SECOND;
/// In the order in which they may follow each other.
const UNITS: &[(&str, u128)] = &[("h", 60 * MINUTE), ("m", MINUTE), ("s", SECOND), ("ms", MILLI)];
const MAX_FRACTION_DIGITS: usize = 18;

const EXPECTED: &str = "write a number and a unit, such as 15s, 500ms, 2m or 1h";
const TOO_LONG: &str = "the duration is too long";

#[cfg(test)]
mod tests {
    use tenure_fuzz::Fuzz;

    use super::*;

    #[test]
    fn reads_every_unit() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(parse("1h02m03.5s"), Ok(Duration::from_millis(3_723_500)));
    }

    #[test]
    fn refuses_what_is_not_a_duration() {
        for text in
            ["", "15", "s", "-1s", "1.2.3s", "15 s", "1d", "1e9s", "NaNs", "infs", "１s", "1s1h", "1s1s", "1h5", ".s"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert!(parse(&format!("{}h", "9".repeat(40))).is_err());
    }

    #[test]
    fn shows_what_people_would_write() {
        assert_eq!(show(Duration::from_millis(250)), "250ms");
        assert_eq!(show(Duration::from_millis(2_500)), "2.5s");
        assert_eq!(show(Duration::from_secs(125)), "2m05s");
        assert_eq!(show(Duration::from_secs(7_380)), "2h03m");
        assert_eq!(show(Duration::from_millis(59_960)), "1m00s");
        assert_eq!(show(Duration::from_millis(119_700)), "2m00s");
    }

    /// What is read is shown so that it can be read again, as the same up to the last digit shown.
    #[test]
    fn fuzz_durations() {
        Fuzz::target("durations").words(WORDS).cases(20_000).run(|input| {
            let text = String::from_utf8_lossy(input);
            let Ok(duration) = parse(&text) else { return };
            let shown = show(duration);
            let again = parse(&shown).unwrap_or_else(|error| panic!("{text:?} is shown as {shown:?}: {error}"));
            assert!(again.abs_diff(duration) <= precision(duration), "{text:?} is shown as {shown:?}");
            assert_eq!(show(again), shown);
        });
    }

    /// Half of the last digit.
    fn precision(duration: Duration) -> Duration {
        match duration.as_secs() {
            0 => Duration::from_micros(500),
            1..60 => Duration::from_millis(50),
            60..3600 => Duration::from_millis(500),
            _ => Duration::from_secs(30),
        }
    }

    const WORDS: &[&str] =
        &["0", "1", "9", ".", "s", "ms", "m", "h", "59", "60", "999", "3600", "1e9", "-", "+", " ", "inf"];
}
