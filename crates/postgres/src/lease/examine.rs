//! Checks of the server for `tenure doctor`, and for the log at the first connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_store::clock::unix_ms;
use tenure_store::{Finding, Severity, StoreError};
use tokio_postgres::Row;

use super::super::connect::ServerFacts;
use super::super::examine_hosts;
use super::leases::LeaseInner;

/// Clocks that differ by more than this are worth a word. Nothing is decided by it: leases only need a clock that does not
/// jump.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(5);

/// Connects, reads, writes, and examines the configuration of the server.
pub(super) async fn examine(inner: &LeaseInner) -> Vec<Finding> {
    let mut findings = look(inner).await;
    findings.extend(examine_hosts::findings(inner.endpoint()).await);
    // They were logged when the store was opened.
    findings.extend(inner.warnings().iter().map(|warning| Finding::warning("address", warning.clone())));
    findings.push(match inner.touch().await {
        Ok(()) => Finding::good("writable", "a write was committed"),
        Err(error) => Finding::bad("writable", error.to_string()),
    });
    findings
}

/// Logs findings that need attention, for operators who never run `tenure doctor`.
pub(super) async fn warn(inner: Arc<LeaseInner>) {
    for finding in look(&inner).await {
        // Whoever listens says by itself, and once, that it hears nothing.
        if finding.severity != Severity::Good && finding.check != PUSHES {
            log!(warn, store = inner.place(), check = finding.check, "{}", finding.detail);
        }
    }
}

/// The checks that leave no trace.
async fn look(inner: &LeaseInner) -> Vec<Finding> {
    let before = Instant::now();
    match inner.survey(SURVEY).await {
        Ok((row, facts)) => {
            let reach = format!("{} answers in {:.1} ms", inner.place(), before.elapsed().as_secs_f64() * 1_000.0);
            let mut findings = vec![Finding::good("reach", reach)];
            let about = [version, encryption, durability, replication, clock];
            findings.extend(about.iter().map(|look| look(&row)));
            findings.push(timeline(facts));
            findings.push(pushes(inner, facts.is_pooled));
            findings
        }
        Err(error) => vec![unreachable(&error)],
    }
}

/// The check for pushes from the server.
const PUSHES: &str = "pushes";

/// One row about the server and this session.
const SURVEY: &str = "SELECT {call}, pg_catalog.current_setting('server_version') AS version, \
    COALESCE((SELECT ssl FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()), false) AS is_encrypted, \
    COALESCE(pg_catalog.host(pg_catalog.inet_server_addr()), '') AS server_address, \
    pg_catalog.current_setting('fsync') = 'on' AS has_fsync, \
    pg_catalog.current_setting('full_page_writes') = 'on' AS has_full_pages, \
    (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication) AS replicas, \
    pg_catalog.current_setting('synchronous_standby_names') <> '' AS is_synchronous, \
    pg_catalog.current_setting('synchronous_commit') AS commit_level, \
    pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) AS now_s";

fn unreachable(error: &StoreError) -> Finding {
    Finding::bad("reach", error.to_string())
}

fn version(row: &Row) -> Finding {
    let version: String = row.try_get("version").unwrap_or_default();
    Finding::good("version", format!("PostgreSQL {version}, and the schema is up to date"))
}

fn encryption(row: &Row) -> Finding {
    let address: String = row.try_get("server_address").unwrap_or_default();
    let is_near = address.is_empty() || address.starts_with("127.") || address == "::1";
    match (row.try_get("is_encrypted").unwrap_or(false), is_near) {
        (true, _) => Finding::good("encryption", "the connection is encrypted"),
        (false, true) => {
            Finding::good("encryption", "the connection is not encrypted, but the server is on this machine")
        }
        (false, false) => Finding::warning("encryption", "the connection is not encrypted; use sslmode=verify-full"),
    }
}

fn durability(row: &Row) -> Finding {
    let is_on = |setting| row.try_get(setting).unwrap_or(false);
    if is_on("has_fsync") && is_on("has_full_pages") {
        return Finding::good("durability", "confirmed writes survive a crash; grants and renewals wait for the disk");
    }
    Finding::warning(
        "durability",
        "fsync or full_page_writes is off: after a crash the server may have forgotten who leads, and there may be two",
    )
}

fn replication(row: &Row) -> Finding {
    let (replicas, is_synchronous) =
        (row.try_get::<_, i64>("replicas").unwrap_or_default(), row.try_get("is_synchronous").unwrap_or(false));
    let level: String = row.try_get("commit_level").unwrap_or_default();
    match (replicas, is_synchronous, level.as_str()) {
        (0, false, _) => Finding::good("replication", "no standby now, so no failover can lose a lease"),
        (_, true, "on" | "remote_apply") => Finding::good(
            "replication",
            format!("a standby confirms what is written before it counts (synchronous_commit is {level})"),
        ),
        (_, true, _) => Finding::warning(
            "replication",
            format!(
                "synchronous_commit is {level} here, so a standby confirms too little, or nothing. Elections use on in \
                 any case, but a failover can lose a leader's own writes; set it to on for this role and this \
                 database"
            ),
        ),
        (_, false, _) => Finding::warning(
            "replication",
            "standbys follow asynchronously: a failover can lose the latest lease, and there may be two leaders for a \
             moment; set synchronous_standby_names",
        ),
    }
}

fn timeline(facts: ServerFacts) -> Finding {
    match facts.history {
        None => Finding::warning(
            "terms",
            "the server does not report its timeline: after a failover that loses writes, a term may be granted twice",
        ),
        Some(history) => {
            Finding::good("terms", format!("terms grow across failovers; the timeline is {}", history.timeline))
        }
    }
}

fn clock(row: &Row) -> Finding {
    let server = Duration::try_from_secs_f64(row.try_get("now_s").unwrap_or_default()).unwrap_or_default();
    let difference = server.abs_diff(Duration::from_millis(unix_ms()));
    let detail = format!("the clocks of the server and this machine differ by {:.1} s", difference.as_secs_f64());
    if difference > CLOCK_DIFFERENCE {
        return Finding::warning(
            "clock",
            format!("{detail}; one of them is wrong, and setting it will disturb leases"),
        );
    }
    Finding::good("clock", detail)
}

fn pushes(inner: &LeaseInner, is_pooled: bool) -> Finding {
    match (inner.hears_nothing(), is_pooled) {
        (true, _) => Finding::warning(
            PUSHES,
            "notifications do not arrive, so candidates poll for changes; a pooler in transaction mode is the usual \
             cause",
        ),
        (false, true) => Finding::warning(
            PUSHES,
            "the connection goes through a pooler that withholds settings from the server; in transaction mode \
             notifications do not arrive, and candidates poll for changes",
        ),
        (false, false) => Finding::good(PUSHES, "direct connection to the server"),
    }
}
