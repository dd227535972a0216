//! What a server has done, by its own account and by the kernel's.

use std::error::Error;
use std::fs;
use std::time::Instant;

use tenure_testkit::postgres::SqlSession;
use tenure_testkit::process::ProcessHandle;

use super::server::ROLE;
use crate::work::ServerWork;

/// All counters at one instant.
pub(super) struct PostgresCounters {
    /// Calls are statements that clients sent; what functions do is not counted.
    pub(super) work: ServerWork,
    /// Bytes of the log that were ever written.
    pub(super) wal: f64,
    pub(super) connections: f64,
}

impl PostgresCounters {
    pub(super) fn at(first: &ProcessHandle, superuser: &mut SqlSession) -> Result<Self, Box<dyn Error>> {
        let rows = superuser.run(&format!(
            "SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE userid = '{ROLE}'::regrole),
                pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'),
                (SELECT count(*) FROM pg_stat_activity WHERE usename = '{ROLE}')"
        ))?;
        let [Some(calls), Some(wal), Some(connections)] = &rows.first().ok_or("no counters")?[..] else {
            return Err("counters are missing".into());
        };
        let work = ServerWork { at: Instant::now(), cpu: cpu_seconds(first)?, calls: calls.parse()?, pushes: None };
        Ok(Self { work, wal: wal.parse()?, connections: connections.parse()? })
    }
}

/// What all processes of the server have used, those that ended among them.
fn cpu_seconds(first: &ProcessHandle) -> Result<f64, Box<dyn Error>> {
    let own = nanos(first).ok_or("the server is gone")?;
    // One that ends meanwhile is counted in the next look.
    let living: f64 = first.children().iter().filter_map(nanos).sum();
    Ok((own + living) / 1e9 + of_the_dead(first)?)
}

/// What the one thread of a process has used so far.
fn nanos(process: &ProcessHandle) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{}/schedstat", process.pid.as_raw_nonzero())).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// What its children had used that have ended, in seconds.
fn of_the_dead(first: &ProcessHandle) -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string(format!("/proc/{}/stat", first.pid.as_raw_nonzero()))?;
    // The name of the program may hold anything; the state comes after it, and these times 13 fields later.
    let (_, fields) = text.rsplit_once(')').ok_or("no name of the program")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / f64::from(u32::try_from(rustix::param::clock_ticks_per_second())?))
}
