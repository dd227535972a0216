//! All figures for Redis, on servers that are started for them.

mod crowd;
mod elections;
mod floor;
mod handover;
mod load;
mod processes;
mod renewals;
mod wire;

use std::error::Error;

use clap::ValueEnum;
use tenure_testkit::redis::RedisServer;

use self::load::RedisCounters;
use crate::figures::{Bench, FigureOptions};
use crate::roles::Bare;
use crate::{crashes, group, outages};

/// What is done by hand on Redis.
pub(crate) const BARE: Bare =
    Bare { in_batches: renewals::in_batches, one_by_one: renewals::one_by_one, enter: floor::enter, wait: floor::wait };

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RedisFigure {
    /// Raw round trips, and hand-overs in one process beside a bare push and acquisition.
    Handover,
    /// Takeover after kill -9, hand-over and start of whole processes.
    Processes,
    /// Many elections in one process beside a bare loop that renews as many.
    Elections,
    /// Store calls of one leader and nine followers.
    Group,
    /// A thousand followers of one leader, and a resignation among them.
    Crowd,
    /// A leader that is cut off from the store.
    Outages,
    /// Leaders with a command that are killed one after the other.
    Crashes,
}

/// Measures, and prints a table.
pub(crate) fn run(options: FigureOptions<RedisFigure>) -> Result<(), Box<dyn Error>> {
    options.measure("Redis", |figure, bench| match figure {
        RedisFigure::Handover => handover::run(bench),
        RedisFigure::Processes => processes::run(bench),
        RedisFigure::Elections => elections::run(bench),
        RedisFigure::Group => watch_group(bench),
        RedisFigure::Crowd => crowd::run(bench),
        RedisFigure::Crashes => crashes::measure("", &RedisServer::start().url(), bench),
        RedisFigure::Outages => {
            let server = RedisServer::start();
            let url_at = |address| format!("redis://{address}");
            let place = outages::ReachableServer {
                what: "",
                address: server.address(),
                url_at: &url_at,
                outlives_connections: true,
                older: [""; 2],
            };
            outages::run(&place, bench)
        }
    })
}

fn watch_group(bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let server = RedisServer::start();
    let [before, after] = group::watch("", &server.url(), bench.scale, || RedisCounters::at(&server))?;
    let load = after.since(&before);
    let detail = format!("with {:.2} commands in and outside of scripts", load.commands / load.seconds);
    group::describe("", load.scripts / load.seconds, &detail, "", bench.scale, bench.table)
}
