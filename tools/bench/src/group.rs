//! Store calls of one leader and nine followers when nothing happens.

use std::error::Error;
use std::time::Duration;

use tenure::Timing;

use crate::figures::pass;
use crate::handover::Candidates;
use crate::scale::Scale;
use crate::table::FigureTable;

/// What a server tells before and after a time in which nothing happens.
pub(crate) fn watch<L>(
    what: &str,
    url: &str,
    scale: &Scale,
    mut look: impl FnMut() -> Result<L, Box<dyn Error>>,
) -> Result<[L; 2], Box<dyn Error>> {
    let candidates = Candidates::raise(url, scale.group_ttl, CANDIDATES)?;
    // Whoever came before its pushes could be heard asks again.
    std::thread::sleep(scale.group_ttl / 10);
    let before = look()?;
    pass(&format!("one leader and nine followers{what}"), scale.group_watch);
    let after = look()?;
    candidates.end();
    Ok([before, after])
}

/// Puts it into the table: so many calls per second, and what else there is to say.
pub(crate) fn describe(
    what: &str,
    per_second: f64,
    detail: &str,
    beside: &str,
    scale: &Scale,
    table: &mut FigureTable,
) -> Result<(), Box<dyn Error>> {
    let ttl = scale.group_ttl.as_secs_f64();
    let allowed = 0.5 * TARGET_TTL.as_secs_f64() / ttl;
    let predicted = Timing::from_ttl(scale.group_ttl)?.predict(u32::try_from(CANDIDATES)?).requests_per_minute / 60.0;
    table.demand(
        format!("1 leader and 9 followers at a ttl of {ttl} s{what}: store calls per second together"),
        format!("{per_second:.2}, {detail}"),
        format!("{predicted:.2} predicted{beside}"),
        format!("at most {allowed:.2}"),
        per_second <= allowed,
    );
    Ok(())
}

const CANDIDATES: usize = 10;
/// What the target holds for. Leases half as long need twice as many calls.
const TARGET_TTL: Duration = Duration::from_secs(30);
