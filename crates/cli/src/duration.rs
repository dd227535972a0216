//! Durations as people write them.

use std::time::Duration;

/// Reads `15s`, `500ms`, `2m`, `1.5h`.
///
/// # Errors
/// When the text is not a positive number with a unit.
///
/// ```
/// use std::time::Duration;
/// use tenure_cli::duration::parse;
///
/// assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
/// assert!(parse("15").is_err());
/// ```
pub fn parse(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(EXPECTED.to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| EXPECTED.to_owned())?;
    Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|_| "that is too long for a duration".to_owned())
}

/// Writes a duration as [`parse`] reads it, rounded for people.
#[must_use]
pub fn show(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 {
        format!("{:.0}ms", seconds * 1000.0)
    } else if seconds < 60.0 {
        format!("{seconds:.1}s")
    } else if seconds < 3600.0 {
        format!("{:.0}m{:02.0}s", (seconds / 60.0).floor(), seconds % 60.0)
    } else {
        format!("{:.0}h{:02.0}m", (seconds / 3600.0).floor(), (seconds % 3600.0 / 60.0).floor())
    }
}

const EXPECTED: &str = "write a number and a unit, such as 15s, 500ms, 2m or 1h";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("1h"), Ok(Duration::from_secs(3600)));
    }

    #[test]
    fn refuses_what_is_not_a_duration() {
        for text in ["", "15", "s", "-1s", "1.2.3s", "15 s", "1d", "1e9s", "NaNs", "infs", "１s"] {
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
    }
}
