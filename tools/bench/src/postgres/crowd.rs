//! Many followers in few processes.

use std::error::Error;

use super::kind::PostgresStoreKind;
use super::server::BenchPostgres;
use crate::crowd::FollowerCrowd;
use crate::figures::Bench;
use crate::handover::Candidates;

pub(super) fn run(kind: PostgresStoreKind, bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, table, .. } = bench;
    let mut server = BenchPostgres::start()?;
    eprintln!("{} followers{}: starting", scale.followers, kind.suffix());
    let candidates = Candidates::raise_in_groups(&server.url(kind), scale.crowd_ttl, scale.followers + 1, PROCESSES)?;
    let what = format!(" as in {PROCESSES} processes{}", kind.suffix());
    let crowd = FollowerCrowd { what: &what, calls: "statements", candidates };
    crowd.watch(scale, &mut || Ok(server.look()?.work), table)
}

/// Handles with two connections each.
const PROCESSES: usize = 10;
