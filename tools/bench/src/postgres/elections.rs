//! Many elections in one process, all renewed each second, beside one bare statement that renews as many rows.

use std::error::Error;

use super::kind::Kind;
use super::load::Look;
use super::server::{LOCKS_PER_TRANSACTION, Server};
use crate::elections::{Cpu, Renewing, demand_memory};
use crate::figures::Bench;
use crate::scale::Scale;
use crate::table::Table;

pub(super) fn run(kinds: &[Kind], bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    for &count in scale.elections {
        let floor = Watched::play("batches", Kind::Lease, scale, count)?;
        let singles = match count <= scale.singles_max {
            true => Some(Watched::play("singles", Kind::Lease, scale, count)?),
            false => None,
        };
        for &kind in kinds {
            let ours = Watched::play("leader", kind, scale, count)?;
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
struct Watched(Renewing<Look>);

impl Watched {
    fn play(role: &str, kind: Kind, scale: &Scale, count: u32) -> Result<Self, Box<dyn Error>> {
        let mut server = Server::start()?;
        let url = server.url(kind);
        Ok(Self(Renewing::watch(role, &url, count, scale, || server.look())?))
    }

    fn cpu(&self) -> Cpu {
        let Renewing { before, after, .. } = &self.0;
        self.0.cpu(after.work.since(&before.work).cpu)
    }

    /// Bytes of the log per second.
    fn wal(&self) -> f64 {
        let Renewing { before, after, .. } = &self.0;
        (after.wal - before.wal) / after.work.since(&before.work).seconds
    }

    fn describe(&self, kind: Kind, count: u32, floor: &Self, table: &mut Table) {
        let Renewing { before, after, client_bytes, .. } = &self.0;
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
