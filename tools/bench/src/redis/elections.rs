//! Many elections in one process, all renewed each second, beside bare loops that renew as many leases.

use std::error::Error;

use tenure_testkit::redis::RedisServer;

use super::load::RedisCounters;
use crate::elections::{RenewalCost, demand_memory};
use crate::figures::Bench;
use crate::scale::Scale;
use crate::table::FigureTable;

pub(super) fn run(bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    for &count in scale.elections {
        let batches = RedisRenewalCost::play("batches", scale, count)?;
        let ours = RedisRenewalCost::play("leader", scale, count)?;
        let what = format!("{count} elections in one process, renewed each second");
        let cpu = ours.cpu();
        table.fact(what, cpu.to_string(), format!("one script per 1,000 leases, {}", batches.cpu()));
        cpu.compare(batches.cpu(), &format!("{count} elections"), table);
        if count <= scale.max_singles {
            let singles = RedisRenewalCost::play("singles", scale, count)?;
            let what = format!("{count} elections: CPU beside a call for each");
            table.fact(what, cpu.to_string(), singles.cpu().to_string());
        }
        ours.describe(count, table);
    }
    Ok(())
}

/// What renewals have cost.
struct RedisRenewalCost {
    renewing: RenewalCost<RedisCounters>,
    /// Before there were any.
    empty: RedisCounters,
}

impl RedisRenewalCost {
    fn play(role: &str, scale: &Scale, count: u32) -> Result<Self, Box<dyn Error>> {
        let server = RedisServer::start();
        let empty = RedisCounters::at(&server)?;
        let renewing = RenewalCost::watch(role, &server.url(), count, scale, || RedisCounters::at(&server))?;
        Ok(Self { renewing, empty })
    }

    fn cpu(&self) -> crate::elections::Cpu {
        let RenewalCost { before, after, .. } = &self.renewing;
        self.renewing.cpu(after.since(before).cpu)
    }

    fn describe(&self, count: u32, table: &mut FigureTable) {
        let RenewalCost { before, after, client_bytes, .. } = &self.renewing;
        let load = after.since(before);
        table.fact(
            format!("{count} elections: scripts called per second"),
            format!("{:.1}", load.scripts / load.seconds),
            format!("{:.1} reads from sockets by the server", load.reads / load.seconds),
        );
        let connections = after.connections();
        table.demand(
            format!("{count} elections: connections"),
            connections.to_string(),
            "one for commands, one for pushes",
            "at most 2",
            connections <= 2.0,
        );
        let server_bytes = (after.data_bytes() - self.empty.data_bytes()) / f64::from(count);
        let beside = format!("{server_bytes:.0} bytes in the server");
        demand_memory(&format!("{count} elections"), count, *client_bytes, beside, table);
    }
}
