//! The report of `tenure doctor` about several hosts.

use tenure_store::Finding;

use super::connect::ServerFacts;
use super::endpoint::Endpoint;
use super::error::PostgresStoreError;

/// Asks all hosts for their state; `None` if there is only one.
pub(super) async fn findings(endpoint: &Endpoint) -> Option<Finding> {
    let hosts = endpoint.roll_call().await;
    if hosts.is_empty() { None } else { Some(judge(&hosts)) }
}

fn judge(hosts: &[(String, Result<ServerFacts, PostgresStoreError>)]) -> Finding {
    let is_primary = |facts: &ServerFacts| !facts.is_standby;
    let primaries: Vec<(&str, ServerFacts)> = hosts
        .iter()
        .filter_map(|(name, facts)| Some((&**name, facts.as_ref().ok().copied().filter(is_primary)?)))
        .collect();
    let shown = |name: &str, facts: &ServerFacts| format!("{name} ({})", facts.timeline_words());
    let newest = primaries.iter().max_by_key(|(_, facts)| facts.history.map(|history| history.timeline));
    if let (Some((newest, _)), 2..) = (newest, primaries.len()) {
        let all: Vec<String> = primaries.iter().map(|(name, facts)| shown(name, facts)).collect();
        return Finding::bad(
            CHECK,
            format!(
                "several hosts take writes: {}. Stop all but {newest}, or make them standbys of it (pg_rewind): a candidate \
                 that cannot reach {newest} would lead on another one",
                all.join(", ")
            ),
        );
    }
    let silent: Vec<String> = hosts
        .iter()
        .filter_map(|(name, facts)| facts.as_ref().err().map(|fault| format!("{name} ({fault})")))
        .collect();
    if !silent.is_empty() {
        return Finding::warning(
            CHECK,
            format!(
                "these hosts do not answer: {}. If one of them has been promoted, a candidate that starts now cannot \
                 know, and leads on the old primary until it answers",
                silent.join(", ")
            ),
        );
    }
    let primary = primaries.first().map_or_else(|| "none".to_owned(), |(name, facts)| shown(name, facts));
    Finding::good(CHECK, format!("all {} answer, and one of them takes writes: {primary}", hosts.len()))
}

const CHECK: &str = "hosts";
