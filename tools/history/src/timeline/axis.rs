//! From nanoseconds to pixels, and round numbers between them.

/// A span of time laid out from left to right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) start_ns: u64,
    pub(super) span_ns: u64,
    pub(super) left: f64,
    pub(super) width: f64,
}

impl Axis {
    pub(super) fn x(&self, boot_ns: u64) -> f64 {
        let share = boot_ns.saturating_sub(self.start_ns) as f64 / self.span_ns as f64;
        self.left + self.width * share.min(1.0)
    }

    pub(super) fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Round distances from the start, not closer to each other than `apart` pixels, with their labels.
    pub(super) fn ticks(&self, apart: f64) -> Vec<(f64, String)> {
        let wanted_ns = self.span_ns as f64 * apart / self.width;
        let step = steps().find(|step| *step as f64 >= wanted_ns).unwrap_or(self.span_ns);
        let offsets = (0..=self.span_ns / step).map(|number| number * step);
        offsets.map(|offset| (self.x(self.start_ns.saturating_add(offset)), label(offset, step))).collect()
    }
}

const SECOND: u64 = 1_000_000_000;

/// Powers of ten in halves and fifths up to seconds; then what divides minutes, hours and days.
fn steps() -> impl Iterator<Item = u64> {
    let decimal = (0..10).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let seconds = [10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200];
    let days = (0..5).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power) * 86_400));
    decimal.chain(seconds.into_iter().chain(days).map(|seconds| seconds * SECOND))
}

fn label(offset_ns: u64, step_ns: u64) -> String {
    let (seconds, fraction) = (offset_ns / SECOND, offset_ns % SECOND);
    match step_ns {
        _ if offset_ns == 0 => "0".to_owned(),
        0..1_000 => format!("{offset_ns} ns"),
        1_000..1_000_000 => format!("{} µs", offset_ns / 1_000),
        1_000_000..SECOND if fraction > 0 || seconds == 0 => format!("{} ms", offset_ns / 1_000_000),
        _ if seconds < 60 => format!("{seconds} s"),
        _ if seconds < 3_600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ if seconds < 86_400 => format!("{}:{:02}:{:02} h", seconds / 3_600, seconds / 60 % 60, seconds % 60),
        _ => format!("{} d {}:{:02} h", seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(span_ns: u64) -> Vec<String> {
        let axis = Axis { start_ns: 7, span_ns, left: 100.0, width: 1000.0 };
        axis.ticks(200.0).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_for_every_span() {
        assert_eq!(labels(4_000_000_000), ["0", "1 s", "2 s", "3 s", "4 s"]);
        assert_eq!(labels(1_500_000), ["0", "500 µs", "1000 µs", "1500 µs"]);
        assert_eq!(labels(2_000_000_000), ["0", "500 ms", "1 s", "1500 ms", "2 s"]);
        assert_eq!(labels(7_200 * SECOND), ["0", "30:00 min", "1:00:00 h", "1:30:00 h", "2:00:00 h"]);
        assert_eq!(labels(4 * 86_400 * SECOND)[1], "1 d 0:00 h");
        assert_eq!(labels(1), ["0", "1 ns"]);
        assert!(labels(u64::MAX).len() < 10);
    }

    #[test]
    fn an_instant_has_its_place() {
        let axis = Axis { start_ns: 1_000, span_ns: 100, left: 50.0, width: 200.0 };
        assert_eq!([axis.x(0), axis.x(1_050), axis.x(9_999)], [50.0, 150.0, 250.0]);
    }
}
