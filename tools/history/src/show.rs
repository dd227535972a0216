//! Values as people read them.

use std::fmt::Display;

use serde::Serializer;

/// A span of nanoseconds, to three digits or so.
pub(crate) fn span(nanos: u64) -> String {
    let millis = nanos as f64 / 1e6;
    match nanos {
        0..1_000_000 => format!("{millis:.3} ms"),
        1_000_000..1_000_000_000 => format!("{millis:.1} ms"),
        1_000_000_000..120_000_000_000 => format!("{:.2} s", millis / 1e3),
        _ => tenure_core::duration::show(std::time::Duration::from_nanos(nanos)),
    }
}

/// A number and its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Serializes what can be displayed as text.
pub(crate) fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_keep_the_digits_that_matter() {
        let shown = [430_000, 1_250_000, 2_405_000_000, 7_380_000_000_000].map(span);
        assert_eq!(shown, ["0.430 ms", "1.2 ms", "2.40 s", "2h03m"]);
        assert_eq!((count(1, "term"), count(2, "term")), ("1 term".to_owned(), "2 terms".to_owned()));
    }
}
