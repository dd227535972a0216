//! Store calls of one leader and nine followers when nothing happens.

use std::error::Error;
use std::time::Duration;

use tenure::Timing;
use tenure_testkit::redis::RedisServer;

use super::load::Look;
use super::pass;
use super::scale::Scale;
use crate::handover::Candidates;
use crate::table::Table;

pub(super) fn run(scale: &Scale, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let server = RedisServer::start();
    let candidates = Candidates::raise(&server.url(), scale.group_ttl, CANDIDATES)?;
    // Whoever came before its pushes could be heard asks again.
    std::thread::sleep(scale.group_ttl / 10);
    let before = Look::at(&server)?;
    pass("one leader and nine followers", scale.group_watch);
    let load = Look::at(&server)?.since(&before);
    candidates.end();
    let per_second = load.scripts / load.seconds;
    let ttl = scale.group_ttl.as_secs_f64();
    let allowed = 0.5 * TARGET_TTL.as_secs_f64() / ttl;
    let predicted = Timing::from_ttl(scale.group_ttl)?.predict(u32::try_from(CANDIDATES)?).requests_per_minute / 60.0;
    table.demand(
        format!("1 leader and 9 followers at a ttl of {ttl} s: store calls per second together"),
        format!("{per_second:.2}, with {:.2} commands in and outside of scripts", load.commands / load.seconds),
        format!("{predicted:.2} predicted"),
        format!("at most {allowed:.2}"),
        per_second <= allowed,
    );
    Ok(())
}

const CANDIDATES: usize = 10;
/// What the target holds for. Leases half as long need twice as many calls.
const TARGET_TTL: Duration = Duration::from_secs(30);
