//! All figures for both stores on PostgreSQL, on servers that are started for them.

mod blocked;
mod crowd;
mod elections;
mod floor;
mod gone;
mod handover;
mod kind;
mod load;
mod older;
mod processes;
mod renewals;
mod server;
mod wire;

use std::error::Error;

use clap::{Args, ValueEnum};

use self::kind::PostgresStoreKind;
use self::server::BenchPostgres;
use crate::figures::{self, Bench};
use crate::roles::Bare;
use crate::{crashes, group, outages};

/// What to measure.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct PostgresFigureOptions {
    #[command(flatten)]
    common: figures::FigureOptions<PostgresFigure>,
    /// Which of the two stores; both when none is named.
    #[arg(long = "store", value_name = "STORE")]
    stores: Vec<PostgresStoreKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PostgresFigure {
    /// Raw round trips and writes, and hand-overs in one process beside bare ones.
    Handover,
    /// Takeover after kill -9, hand-over and start of whole processes.
    Processes,
    /// A leader whose host is gone without a word.
    Gone,
    /// A leader that is cut off from the store.
    Outages,
    /// Store calls of one leader and nine followers.
    Group,
    /// Many elections in one process beside one bare statement for all of them.
    Elections,
    /// A thousand followers of one leader, and a resignation among them.
    Crowd,
    /// Leaders with a command that are killed one after the other.
    Crashes,
}

/// What is done by hand with a row.
pub(crate) const BARE_LEASE: Bare = Bare {
    in_batches: renewals::in_batches,
    one_by_one: renewals::one_by_one,
    enter: floor::enter_lease,
    wait: floor::wait_for_lease,
};

/// What is done by hand with a lock. A lock needs no renewals, so those of rows stand beside its own.
pub(crate) const BARE_LOCK: Bare = Bare { enter: floor::enter_lock, wait: floor::wait_for_lock, ..BARE_LEASE };

/// Measures, and prints a table.
pub(crate) fn run(options: PostgresFigureOptions) -> Result<(), Box<dyn Error>> {
    let kinds = if options.stores.is_empty() { PostgresStoreKind::value_variants().to_vec() } else { options.stores };
    options.common.measure("PostgreSQL", |figure, bench| match figure {
        PostgresFigure::Handover => handover::run(&kinds, bench),
        PostgresFigure::Processes => processes::run(&kinds, bench),
        PostgresFigure::Gone => kinds.iter().try_for_each(|kind| gone::run(*kind, bench)),
        PostgresFigure::Outages => kinds.iter().try_for_each(|kind| strike(*kind, bench)),
        PostgresFigure::Group => watch_groups(&kinds, bench),
        PostgresFigure::Elections => elections::run(&kinds, bench),
        PostgresFigure::Crowd => kinds.iter().try_for_each(|kind| crowd::run(*kind, bench)),
        PostgresFigure::Crashes => kinds.iter().try_for_each(|kind| kill_in_a_row(*kind, bench)),
    })
}

fn kill_in_a_row(kind: PostgresStoreKind, bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let server = BenchPostgres::start()?;
    crashes::measure(kind.suffix(), &server.url(kind), bench)
}

fn strike(kind: PostgresStoreKind, bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let server = BenchPostgres::start()?;
    let place = outages::ReachableServer {
        what: kind.suffix(),
        address: server.address(),
        url_at: &|address| server.url_at(kind, address),
        // A lock ends with its session.
        outlives_connections: kind == PostgresStoreKind::Lease,
        older: kind.older().outages,
    };
    outages::run(&place, bench)
}

/// The groups do not disturb each other: each has a server of its own, and waits nearly all of the time.
fn watch_groups(kinds: &[PostgresStoreKind], bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let scale = bench.scale;
    let watch = |kind: PostgresStoreKind| -> Result<_, Box<dyn Error>> {
        let mut server = BenchPostgres::start()?;
        let url = server.url(kind);
        group::watch(kind.suffix(), &url, scale, || server.look())
    };
    let watched = std::thread::scope(|scope| {
        let watch = |kind: &PostgresStoreKind| {
            let kind = *kind;
            scope.spawn(move || watch(kind).map_err(|error| error.to_string()))
        };
        let watching: Vec<_> = kinds.iter().map(watch).collect();
        watching.into_iter().map(|watching| watching.join().unwrap_or(Err("it panicked".into()))).collect::<Vec<_>>()
    });
    for (kind, watched) in kinds.iter().zip(watched) {
        let [before, after] = watched?;
        let per_second = after.work.since(&before.work).calls_per_second();
        let older = format!("; {}: {}", kind.older().name, kind.older().group);
        let detail = "statements that clients sent, by pg_stat_statements";
        group::describe(kind.suffix(), per_second, detail, &older, scale, bench.table)?;
    }
    Ok(())
}
