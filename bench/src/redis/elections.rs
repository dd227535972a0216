//! Many elections in one process, all renewed each second, beside bare loops that renew as many leases.

use std::error::Error;

use tenure_testkit::redis::RedisServer;

use super::load::{Load, Look};
use super::scale::Scale;
use super::{pass, roles};
use crate::table::Table;

pub(super) fn run(scale: &Scale, table: &mut Table) -> Result<(), Box<dyn Error>> {
    for &count in scale.elections {
        let batches = Renewing::watch("batches", scale, count)?;
        let ours = Renewing::watch("leader", scale, count)?;
        let what = format!("{count} elections in one process, renewed each second");
        let beside = format!("one script per 1,000 leases, {}", batches.cpu());
        table.fact(what.clone(), ours.cpu(), beside);
        for (who, cpu) in [
            ("client", &Renewing::client as &dyn Fn(&Renewing) -> f64),
            ("server", &Renewing::server),
            ("both", &|renewing| renewing.client() + renewing.server()),
        ] {
            let (ours, floor) = (cpu(&ours), cpu(&batches));
            table.ratio(
                format!("{count} elections: CPU of {who}"),
                format!("{ours:.2} %"),
                format!("{floor:.2} %"),
                ours / floor,
                2.0,
            );
        }
        if count <= scale.singles_max {
            let singles = Renewing::watch("singles", scale, count)?;
            table.fact(format!("{count} elections: CPU beside a call for each"), ours.cpu(), singles.cpu());
        }
        ours.describe(count, table);
    }
    Ok(())
}

/// What renewals have cost.
struct Renewing {
    /// CPU seconds of the client.
    client: f64,
    load: Load,
    connections: f64,
    client_bytes: f64,
    server_bytes: f64,
}

impl Renewing {
    fn watch(role: &str, scale: &Scale, count: u32) -> Result<Self, Box<dyn Error>> {
        let server = RedisServer::start();
        let empty = Look::at(&server)?;
        let mut client = roles::start(&[role, &server.url(), &count.to_string()])?;
        std::thread::sleep(scale.settling);
        let (usage_before, before) = (roles::usage(&mut client)?, Look::at(&server)?);
        pass(&format!("{count} leases, {role}"), scale.renewals);
        let (usage, after) = (roles::usage(&mut client)?, Look::at(&server)?);
        roles::dismiss(client)?;
        Ok(Self {
            client: usage.cpu_seconds - usage_before.cpu_seconds,
            load: after.since(&before),
            connections: after.connections(),
            client_bytes: usage.bytes,
            server_bytes: after.data_bytes() - empty.data_bytes(),
        })
    }

    /// Percent of a core.
    fn client(&self) -> f64 {
        100.0 * self.client / self.load.seconds
    }

    /// Percent of a core.
    fn server(&self) -> f64 {
        100.0 * self.load.cpu / self.load.seconds
    }

    fn cpu(&self) -> String {
        format!("client {:.2} %, server {:.2} % of a core", self.client(), self.server())
    }

    fn describe(&self, count: u32, table: &mut Table) {
        let Self { load, connections, client_bytes, server_bytes, .. } = self;
        let each = |bytes: &f64| bytes / f64::from(count);
        table.fact(
            format!("{count} elections: scripts called per second"),
            format!("{:.1}", load.scripts / load.seconds),
            format!("{:.1} reads from sockets by the server", load.reads / load.seconds),
        );
        table.demand(
            format!("{count} elections: connections"),
            connections.to_string(),
            "one for commands, one for pushes",
            "at most 2",
            *connections <= 2.0,
        );
        table.demand(
            format!("{count} elections: memory of the client for each, beyond its name"),
            format!("{:.0} bytes", each(client_bytes)),
            format!("{:.0} bytes in the server", each(server_bytes)),
            "at most 1,000 bytes",
            each(client_bytes) <= 1_000.0,
        );
    }
}
