//! What `tenure doctor` is told about a database file.

use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::super::{Finding, StoreError};
use super::database::{Database, Durability};
use super::error::Fault;
use super::schema::VERSION;
use super::worker::Worker;

/// A grant waits for this. Disks that take longer make elections slow, but not wrong.
const SLOW_WRITE: Duration = Duration::from_millis(100);
/// Room for the log of some thousand renewals.
const SPACE_MIN: u64 = 64 << 20;

impl Worker {
    /// Reads, writes, and looks at what is around the file.
    pub(super) fn examine(&mut self) -> Vec<Finding> {
        let path = self.path().to_owned();
        let clock = Finding::good("clock", self.clock().describe());
        let findings = self.on_file(|_, database| {
            Ok(vec![
                Finding::good("reach", format!("{} is open", path.display())),
                Finding::good("file system", "local, with write-ahead logging"),
                Finding::good("schema", format!("version {VERSION}")),
                writable(database),
                space(database),
            ])
        });
        match findings {
            Ok(mut findings) => {
                findings.push(clock);
                findings
            }
            Err(error) => vec![Finding::bad("reach", describe(&error)), clock],
        }
    }
}

fn writable(database: &Database) -> Finding {
    let before = Instant::now();
    match database.write(Durability::PowerLoss, touch) {
        Ok(()) => {
            let took = before.elapsed();
            let detail = format!("a durable write took {:.1} ms", took.as_secs_f64() * 1_000.0);
            if took < SLOW_WRITE { Finding::good("writable", detail) } else { Finding::warning("writable", detail) }
        }
        Err(fault) => Finding::bad("writable", describe(&fault.about(&database.location().path))),
    }
}

/// Writes a page without changing what it says.
fn touch(connection: &rusqlite::Connection) -> Result<(), Fault> {
    connection.execute(include_str!("sql/boot_touch.sql"), ())?;
    Ok(())
}

fn space(database: &Database) -> Finding {
    let place = database.location().processes();
    let place = place.parent().unwrap_or(&database.location().real);
    match statvfs(place) {
        Ok(space) => {
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            let detail = format!("{} MiB free in {}", free >> 20, place.display());
            if free < SPACE_MIN { Finding::warning("space", detail) } else { Finding::good("space", detail) }
        }
        Err(error) => Finding::warning("space", format!("cannot tell how much room is left: {error}")),
    }
}

fn describe(error: &StoreError) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => format!("{error} ({source})"),
        None => error.to_string(),
    }
}
