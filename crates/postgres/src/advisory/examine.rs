//! Checks for `tenure doctor`.

use tenure_store::Finding;

use super::super::examine_hosts;
use super::shared::AdvisoryShared;

/// Connects, takes an otherwise unused lock for the length of one statement, and reports the result.
pub(super) async fn examine(shared: &AdvisoryShared) -> Vec<Finding> {
    let place = shared.endpoint.place();
    let session = match shared.session().await {
        Ok(session) => session,
        Err(fault) => {
            let mut findings = vec![Finding::bad("reach", shared.tell(fault).to_string())];
            findings.extend(examine_hosts::findings(&shared.endpoint).await);
            return findings;
        }
    };
    let facts = session.facts();
    let version = format!("{}.{}", facts.version / 10_000, facts.version % 10_000);
    let pooler = if facts.is_pooled {
        Finding::warning(
            "pooler",
            "the connection goes through a pooler, which now keeps sessions separate and must continue to do so",
        )
    } else {
        Finding::good("pooler", "direct connection to the server")
    };
    let mut findings =
        vec![Finding::good("reach", format!("PostgreSQL {version} at {place} answers, and is the primary")), pooler];
    let number = getrandom::u64().unwrap_or_default().cast_signed();
    let sql = "SELECT pg_catalog.pg_try_advisory_xact_lock($1), current_user::text AS role";
    findings.push(match session.ask(sql, &[(&number, tokio_postgres::types::Type::INT8)]).await {
        Ok(rows) => {
            let role: String = rows.first().and_then(|row| row.try_get("role").ok()).unwrap_or_default();
            Finding::good(
                "locks",
                format!("the role {role} can take advisory locks, as can every role that can log in"),
            )
        }
        Err(fault) => Finding::bad("locks", shared.tell(fault).to_string()),
    });
    findings.extend(examine_hosts::findings(&shared.endpoint).await);
    findings.push(Finding::warning(
        "promises",
        "the server frees a lock at once when it ends the session, and the leader learns of it a moment later; use \
         postgres:// if two leaders for that moment would do harm",
    ));
    findings
}
