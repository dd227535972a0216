//! Many elections in one process, all renewed each second, beside one bare statement that renews as many rows.

use std::error::Error;

use super::kind::PostgresStoreKind;
use super::load::PostgresCounters;
use super::server::{BenchPostgres, LOCKS_PER_TRANSACTION};
use crate::elections::{Cpu, RenewalCost, demand_memory};
use crate::figures::Bench;
use crate::scale::Scale;
use crate::table::FigureTable;

pub(super) fn run(kinds: &[PostgresStoreKind], bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    for &count in scale.elections {
        let floor = PostgresRenewalCost::play("batches", PostgresStoreKind::Lease, scale, count)?;
        let singles = match count <= scale.max_singles {
            true => Some(PostgresRenewalCost::play("singles", PostgresStoreKind::Lease, scale, count)?),
            false => None,
        };
        for &kind in kinds {
            let ours = PostgresRenewalCost::play("leader", kind, scale, count)?;
            ours.describe(kind, count, &floor, table);
            if let Some(singles) = &singles {
                let what = format!("{count} elections{}: CPU beside a statement for each", kind.suffix());
                table.fact(what, ours.cpu().to_string(), singles.cpu().to_string());
            }
        }
    }
    Ok(())
}

/// What renewals have cost.
struct PostgresRenewalCost(RenewalCost<PostgresCounters>);

impl PostgresRenewalCost {
    fn play(role: &str, kind: PostgresStoreKind, scale: &Scale, count: u32) -> Result<Self, Box<dyn Error>> {
        let mut server = BenchPostgres::start()?;
        let url = server.url(kind);
        Ok(Self(RenewalCost::watch(role, &url, count, scale, || server.look())?))
    }

    fn cpu(&self) -> Cpu {
        let RenewalCost { before, after, .. } = &self.0;
        self.0.cpu(after.work.since(&before.work).cpu)
    }

    /// Bytes of the log per second.
    fn wal(&self) -> f64 {
        let RenewalCost { before, after, .. } = &self.0;
        (after.wal - before.wal) / after.work.since(&before.work).seconds
    }

    fn describe(&self, kind: PostgresStoreKind, count: u32, floor: &Self, table: &mut FigureTable) {
        let RenewalCost { before, after, client_bytes, .. } = &self.0;
        let what = format!("{count} elections{}", kind.suffix());
        table.fact(
            format!("{what}: in one process, renewed each second"),
            self.cpu().to_string(),
            format!("one UPDATE for as many rows, {}; {}, {}", floor.cpu(), kind.older().name, kind.older().elections),
        );
        self.cpu().compare(floor.cpu(), &what, table);
        table.fact(
            format!("{what}: start of the process until it leads all of them"),
            format!("{:.1} s", self.0.ready_after),
            format!("as many rows inserted by one statement, {:.1} s", floor.0.ready_after),
        );
        table.fact(
            format!("{what}: bytes of WAL per second"),
            format!("{:.0}", self.wal()),
            format!("{:.0}; ours {:.2} times that", floor.wal(), self.wal() / floor.wal()),
        );
        let per_second = after.work.since(&before.work).calls_per_second();
        table.fact(format!("{what}: statements per second"), format!("{per_second:.2}"), "");
        table.demand(
            format!("{what}: connections"),
            after.connections.to_string(),
            format!("max_locks_per_transaction is {LOCKS_PER_TRANSACTION}"),
            "at most 2",
            after.connections <= 2.0,
        );
        demand_memory(&what, count, *client_bytes, String::new(), table);
    }
}
