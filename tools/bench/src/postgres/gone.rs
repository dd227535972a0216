//! A leader whose host is gone without a word: no connection of it is closed, and nothing comes any more.

use std::error::Error;
use std::net::SocketAddr;

use rustix::process::Signal;
use tenure::Clock;
use tenure_history::{History, Limits};
use tenure_testkit::netns::Namespace;
use tenure_testkit::postgres::PostgresOptions;

use super::kind::PostgresStoreKind;
use super::server::BenchPostgres;
use crate::elect_processes::{ElectProcesses, TTL};
use crate::figures::Bench;
use crate::outages::overlap_ns;
use crate::processes::millis;
use crate::stats::Samples;

pub(super) fn run(kind: PostgresStoreKind, bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, client, table } = bench;
    let (mut took, mut overlap, mut is_good) = (Samples::default(), 0, true);
    for run in 1..=scale.cuts {
        eprintln!("a host that is gone{}: run {run} of {}", kind.suffix(), scale.cuts);
        let host = Namespace::new()?;
        let options = PostgresOptions::default()
            .setting("listen_addresses", &format!("127.0.0.1,{}", host.outside()))
            .access_rule(&format!("host all all {}/32 scram-sha-256", host.inside()));
        let server = BenchPostgres::start_with(options)?;
        let mut processes = ElectProcesses::empty(client);
        let through_the_link = SocketAddr::from((host.outside(), server.address().port()));
        // This server has no certificate, and only this host can see what is on the link.
        let url = format!("{}?sslmode=disable", server.url_at(kind, through_the_link));
        processes.enter_from(&host, &url, ELECTION, &["--renewals"])?;
        processes.wait_for_one("elected", CUT_OFF)?;
        processes.enter(&server.url(kind), ELECTION, &["--renewals"])?;
        processes.wait_for_one("observed", OTHER)?;
        let cut = Clock::boottime().now();
        host.cut()?;
        took.push(millis(cut, processes.wait_for_one("elected", OTHER)?));
        // What they print needs no network.
        for candidate in [CUT_OFF, OTHER] {
            processes.signal(candidate, Signal::TERM)?;
            processes.wait_for_one("stopped", candidate)?;
        }
        let verdict = History::parse(processes.told()).verdict(&Limits::default());
        overlap += overlap_ns(&verdict);
        is_good &= verdict.is_good();
    }
    table.demand(
        format!("host of the leader gone without FIN at a ttl of {TTL}{}: two leaders at once", kind.suffix()),
        format!("{overlap} ns in {} runs", scale.cuts),
        format!("next leader after {}; {}: {}", took.in_millis(), kind.older().name, kind.older().gone),
        "0 ns",
        overlap == 0 && is_good,
    );
    Ok(())
}

const ELECTION: &str = "gone";
const CUT_OFF: usize = 0;
const OTHER: usize = 1;
