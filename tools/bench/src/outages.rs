//! A leader that is cut off from the store, and another candidate that is not.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tenure_history::{Check, History, HistoryVerdict, Limits};
use tenure_testkit::proxy::Proxy;

use crate::elect_processes::{ElectProcesses, TTL};
use crate::figures::Bench;
use crate::table::FigureTable;

/// A server, and how to get there.
pub(crate) struct ReachableServer<'a> {
    /// What follows in the names of the figures.
    pub(crate) what: &'a str,
    pub(crate) address: SocketAddr,
    /// What candidates write who find it at this address.
    pub(crate) url_at: &'a (dyn Fn(SocketAddr) -> String + Sync),
    /// Whether leadership can be kept over a new connection. What the proxy swallows spoils the old one.
    pub(crate) outlives_connections: bool,
    /// What to say of others beside a black hole, and beside refused connections.
    pub(crate) older: [&'static str; 2],
}

/// Lets outages strike the leader alone, and judges what happened.
pub(crate) fn run(place: &ReachableServer<'_>, bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let (scale, client) = (bench.scale, bench.client);
    eprintln!("outages at once{}: the longest of {:.0} s", place.what, scale.outage.as_secs_f64());
    let mut outages = vec![
        Outage {
            what: "black hole",
            strike: Proxy::black_hole,
            lasts: scale.outage,
            is_survived: false,
            older: place.older[0],
        },
        Outage {
            what: "refused connections",
            strike: refuse,
            lasts: scale.outage,
            is_survived: false,
            older: place.older[1],
        },
    ];
    if place.outlives_connections {
        let strike = Proxy::black_hole;
        outages.push(Outage { what: "black hole", strike, lasts: SURVIVED, is_survived: true, older: "" });
    }
    // They do not disturb each other: each has an election of its own, and waits most of the time.
    let verdicts = std::thread::scope(|scope| {
        let watch = |(number, outage)| {
            scope.spawn(move || watch(client, place, number, outage).map_err(|error| error.to_string()))
        };
        let watched: Vec<_> = outages.iter().enumerate().map(watch).collect();
        watched.into_iter().map(|watched| watched.join().unwrap_or(Err("it panicked".into()))).collect::<Vec<_>>()
    });
    for (outage, verdict) in outages.iter().zip(verdicts) {
        outage.describe(place.what, &verdict?, bench.table)?;
    }
    Ok(())
}

/// What happens to the connections of the leader.
struct Outage {
    what: &'static str,
    strike: fn(&Proxy),
    lasts: Duration,
    /// Whether the leader keeps its lease.
    is_survived: bool,
    /// What to say of others.
    older: &'static str,
}

impl Outage {
    fn describe(&self, place: &str, verdict: &HistoryVerdict, table: &mut FigureTable) -> Result<(), Box<dyn Error>> {
        let [election] = &verdict.elections[..] else { return Err("there is one election".into()) };
        let lasts = self.lasts.as_secs_f64();
        let title = format!("{} of {lasts:.1} s for the leader alone, at a ttl of {TTL}{place}", self.what);
        if self.is_survived {
            let terms: Vec<u64> = election.leaderships.iter().map(|leadership| leadership.term).collect();
            let measured = format!("{} term(s)", terms.len());
            table.demand(title, measured, "", "leadership kept, same term", terms.len() == 1 && verdict.is_good());
            return Ok(());
        }
        let takeover = election.takeovers.first().ok_or("nobody took over")?;
        table.demand(
            format!("{title}: two leaders at once"),
            format!("{} ns", overlap_ns(verdict)),
            format!("{:.2} s without a leader{}", Duration::from_nanos(takeover.took_ns).as_secs_f64(), self.older),
            "0 ns",
            verdict.is_good(),
        );
        Ok(())
    }
}

/// For how long two led at once.
pub(crate) fn overlap_ns(verdict: &HistoryVerdict) -> u64 {
    let overlaps = verdict.violations().filter(|violation| violation.check == Check::Overlap);
    overlaps.filter_map(|violation| violation.between_boot_ns).map(|(from, to)| to - from).sum()
}

/// Judges what both candidates have told of an outage.
fn watch(
    client: &Path,
    place: &ReachableServer<'_>,
    number: usize,
    outage: &Outage,
) -> Result<HistoryVerdict, Box<dyn Error>> {
    let proxy = Proxy::before(place.address)?;
    let election = format!("outage-{number}");
    let mut processes = ElectProcesses::empty(client);
    processes.enter(&(place.url_at)(proxy.address()), &election, &["--renewals"])?;
    processes.wait_for("elected")?;
    processes.enter(&(place.url_at)(place.address), &election, &["--renewals"])?;
    processes.wait_for_one("observed", OTHER)?;
    (outage.strike)(&proxy);
    std::thread::sleep(outage.lasts);
    proxy.heal();
    let [follower, leader] = if outage.is_survived {
        // Whoever has lost the lease would have said so by then.
        std::thread::sleep(SETTLED);
        [OTHER, CUT_OFF]
    } else {
        processes.wait_for_one("elected", OTHER)?;
        processes.wait_for_one("observed", CUT_OFF)?;
        [CUT_OFF, OTHER]
    };
    // The follower goes first, so that there is no further hand-over.
    for candidate in [follower, leader] {
        processes.signal(candidate, Signal::TERM)?;
        processes.wait_for_one("stopped", candidate)?;
    }
    Ok(History::parse(processes.told()).verdict(&Limits::default()))
}

/// As a server does that is gone.
fn refuse(proxy: &Proxy) {
    proxy.refuse();
    proxy.reset();
}

const CUT_OFF: usize = 0;
const OTHER: usize = 1;
/// Short enough for a lease of [`TTL`].
const SURVIVED: Duration = Duration::from_millis(1_200);
/// More than a lease of [`TTL`].
const SETTLED: Duration = Duration::from_secs(4);
