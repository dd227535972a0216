//! Whole processes: how late a takeover after kill -9 is, and hand-overs after SIGTERM beside bare ones between two
//! processes.

use std::error::Error;
use std::time::Duration;

use tenure::{Clock, Instant};

use super::kind::PostgresStoreKind;
use super::server::BenchPostgres;
use super::wire::Repeated;
use crate::elect_processes::TTL;
use crate::figures::Bench;
use crate::floor;
use crate::handover::{Contestant, IDLE};
use crate::processes::Measured;
use crate::stats::Samples;
use crate::table::FigureTable;

pub(super) fn run(kinds: &[PostgresStoreKind], bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, client, table } = bench;
    let mut all: Vec<ProcessFigures> = kinds.iter().map(|_| ProcessFigures::default()).collect();
    for run in 1..=scale.runs {
        eprintln!("processes: run {run} of {}", scale.runs);
        let mut server = BenchPostgres::start()?;
        for (kind, watched) in kinds.iter().zip(&mut all) {
            let url = server.url(*kind);
            watched.ours.one_run(client, &url, |killed| match kind {
                PostgresStoreKind::Lease => expiry(&mut server),
                PostgresStoreKind::Advisory => Ok(killed),
            })?;
            watched.floor_ms.push(floor::between_processes(&url)?);
            let mut write = Repeated::write(&server.url(PostgresStoreKind::Lease))?;
            std::thread::sleep(IDLE);
            watched.write_ms.push(write.once()?.as_secs_f64() * 1e3);
        }
    }
    kinds.iter().zip(all).for_each(|(kind, watched)| watched.describe(*kind, scale.runs, table));
    Ok(())
}

/// What all runs have shown.
#[derive(Default)]
struct ProcessFigures {
    ours: Measured,
    floor_ms: Samples,
    write_ms: Samples,
}

impl ProcessFigures {
    fn describe(self, kind: PostgresStoreKind, runs: usize, table: &mut FigureTable) {
        let Measured { start, takeover, handover, resident, .. } = self.ours;
        let (what, older) = (kind.suffix(), kind.older());
        let since = match kind {
            PostgresStoreKind::Lease => "after the expiry of the lease",
            PostgresStoreKind::Advisory => "after the kill",
        };
        table.demand(
            format!("takeover after kill -9 at a ttl of {TTL}, {since}, {runs} runs{what}"),
            takeover.in_millis(),
            format!("{}: {}", older.name, older.crash),
            "within 20 ms",
            takeover.max() <= 20.0,
        );
        table.ratio(
            format!("hand-over between processes at a ttl of {TTL}, SIGTERM to leadership{what}"),
            format!("{}, {:.1} durable writes", handover.in_millis(), handover.median() / self.write_ms.median()),
            format!(
                "push and acquisition between processes, {}; {}: {}",
                self.floor_ms.in_millis(),
                older.name,
                older.handover
            ),
            handover.median() / self.floor_ms.median(),
            1.5,
        );
        table.fact(format!("start of a process to leadership{what}"), start.in_millis(), "");
        table.demand(
            format!("resident memory of a process{what}"),
            format!("{:.1} MB", resident.median()),
            "",
            "at most 12 MB",
            resident.max() <= 12.0,
        );
    }
}

/// When the lease of the leader that was just killed ends, by the store.
fn expiry(server: &mut BenchPostgres) -> Result<Instant, Box<dyn Error>> {
    // A renewal that was under way has arrived by then, and no lease is as short.
    std::thread::sleep(Duration::from_millis(200));
    let asked = Clock::boottime().now();
    let seconds = server.number(
        "SELECT extract(epoch FROM expires_at - clock_timestamp()) FROM tenure.election WHERE name = 'bench'",
    )?;
    if seconds <= 0.0 {
        return Err("the lease has run out already".into());
    }
    Ok(asked + Duration::from_secs_f64(seconds))
}
