//! Several hosts of which more than one takes writes: an old primary that came back, beside the one that took its place.

use tenure::store::{Severity, StoreErrorKind};
use tenure_testkit::postgres::{PostgresServer, Standby};
use tenure_testkit::proxy::Proxy;

use super::support::{PASSWORD, ROLE, StoreCandidate, id, open, options, until};

fn address(ports: &[u16]) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres+advisory://{ROLE}:{PASSWORD}@{}/postgres", hosts.join(","))
}

/// A primary that came back as it was, and the standby that took its place.
fn split() -> (PostgresServer, Standby) {
    let primary = PostgresServer::start_with(options());
    let standby = Standby::of(&primary);
    primary.kill();
    standby.promote();
    primary.restart();
    (primary, standby)
}

#[tokio::test]
async fn locks_are_taken_where_the_timeline_is_highest_and_never_below_one_that_was_seen() {
    let (old, new) = split();
    let leader = StoreCandidate::at(&address(&[new.port(), old.port()]), "1", "leader");
    let term = leader.granted().await;
    let fresh = StoreCandidate::at(&address(&[old.port(), new.port()]), "1", "fresh");
    assert_eq!(fresh.held().await.leader.unwrap().candidate, id("leader"));
    leader.keeps(term).await;
    let findings = open(&address(&[old.port(), new.port()])).examine().await;
    assert!(
        findings.iter().any(|finding| finding.check == "hosts" && finding.severity == Severity::Bad),
        "{findings:?}"
    );

    new.kill();
    let refused = async || fresh.campaign().await.err().filter(|error| error.kind() == StoreErrorKind::Replaced);
    let refused = until("a refusal", refused).await;
    assert!(refused.to_string().contains("timeline 1"), "{refused}");
}

#[tokio::test]
async fn a_lock_on_an_old_primary_is_given_up_when_the_new_one_can_be_asked() {
    let (old, new) = split();
    let link = Proxy::before(new.address()).unwrap();
    link.refuse();
    let candidate = StoreCandidate::at(&address(&[old.port(), link.address().port()]), "1", "candidate");
    let stale = candidate.granted().await;
    link.heal();
    until("the end of the stale lock", async || {
        let reply = candidate.renew(stale).await.ok()?;
        matches!(reply, tenure_core::RenewReply::NotHolder { .. }).then_some(())
    })
    .await;
    candidate.granted_soon().await;
    assert_eq!(new.sql("SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1").len(), 1);
}
