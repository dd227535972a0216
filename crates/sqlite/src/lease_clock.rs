//! The clock that all participants of one file share: the machine's, regardless of time namespaces.

use std::fs;
use std::io;
use std::path::Path;

use tenure_store::Instant;
use tenure_store::clock::Clock;

use super::error::SqliteStoreError;

/// `CLOCK_BOOTTIME` as seen outside of all time namespaces, and the boot it counts from.
#[derive(Debug, Clone)]
pub(super) struct LeaseClock {
    clock: Clock,
    /// How far this process's time namespace is ahead of the machine's own.
    offset_ns: i128,
    boot_id: String,
}

impl LeaseClock {
    pub(super) fn of(clock: Clock) -> Result<Self, SqliteStoreError> {
        let offset_ns = if clock.is_boottime() { namespace_offset_ns()? } else { 0 };
        let path = Path::new("/proc/sys/kernel/random/boot_id");
        let boot_id = fs::read_to_string(path).map_err(|error| SqliteStoreError::io("read", path, error))?;
        Ok(Self { clock, offset_ns, boot_id: boot_id.trim().to_owned() })
    }

    pub(super) fn now(&self) -> Instant {
        let nanos = i128::from(self.clock.now().as_nanos()) - self.offset_ns;
        Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// The wall clock beside it.
    pub(super) fn unix_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    pub(super) fn boot_id(&self) -> &str {
        &self.boot_id
    }

    /// Describes how the clock differs inside a time namespace, for display.
    pub(super) fn describe(&self) -> String {
        match self.offset_ns {
            0 => format!("CLOCK_BOOTTIME of boot {}", self.boot_id),
            offset => {
                format!("CLOCK_BOOTTIME of boot {}, corrected by {offset} ns for the time namespace", self.boot_id)
            }
        }
    }
}

fn namespace_offset_ns() -> Result<i128, SqliteStoreError> {
    // The offsets are those of children to come. A process that has unshared its time namespace without having forked
    // does not live in it yet.
    let inhabited = fs::read_link("/proc/self/ns/time");
    let for_children = fs::read_link("/proc/self/ns/time_for_children");
    if let (Ok(inhabited), Ok(for_children)) = (inhabited, for_children)
        && inhabited != for_children
    {
        return Err(SqliteStoreError::BetweenTimeNamespaces);
    }
    let path = Path::new("/proc/self/timens_offsets");
    match fs::read_to_string(path) {
        Ok(text) => boottime_offset_ns(&text)
            .ok_or_else(|| SqliteStoreError::io("understand", path, io::Error::from(io::ErrorKind::InvalidData))),
        // A kernel without time namespaces has no offsets.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(SqliteStoreError::io("read", path, error)),
    }
}

/// Reads lines of the form `boottime  SECONDS  NANOSECONDS`; only the seconds can be negative.
fn boottime_offset_ns(text: &str) -> Option<i128> {
    let mut words = text.lines().map(str::split_whitespace).find_map(|mut words| {
        let clock = words.next()?;
        (clock == "boottime" || clock == "7").then_some(words)
    })?;
    let seconds: i64 = words.next()?.parse().ok()?;
    let nanos: i64 = words.next()?.parse().ok()?;
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_the_kernel_writes_them() {
        let text = "monotonic           0         0\nboottime       100000       500\n";
        assert_eq!(boottime_offset_ns(text), Some(100_000_000_000_500));
        assert_eq!(boottime_offset_ns("monotonic 1 1\nboottime -2 999999999\n"), Some(-1_000_000_001));
        assert_eq!(boottime_offset_ns("boottime"), None);
        assert_eq!(boottime_offset_ns("boottime x y"), None);
        assert_eq!(boottime_offset_ns(""), None);
    }

    #[test]
    fn here_the_clock_can_be_read() {
        let clock = LeaseClock::of(Clock::boottime()).unwrap();
        assert!(clock.now() > Instant::ZERO);
        assert_eq!(clock.boot_id().len(), 36);
    }
}
