//! Several hosts of which more than one takes writes: an old primary that came back, beside the one that took its place.

use std::time::{Duration, Instant};

use tenure::store::{Severity, StoreErrorKind};
use tenure_core::CampaignReply;
use tenure_testkit::eventually;
use tenure_testkit::postgres::{PostgresServer, Standby};
use tenure_testkit::proxy::Proxy;

use crate::support::{APP, PASSWORD, StoreCandidate, id, migrate, open, options, term_of, until};

/// A primary and its standby, which has all that the primary has.
struct ReplicatedServers {
    primary: PostgresServer,
    standby: Standby,
}

impl ReplicatedServers {
    async fn start() -> Self {
        let primary = PostgresServer::start_with(options());
        migrate(&primary.url()).await;
        let standby = Standby::of(&primary);
        Self { primary, standby }
    }

    /// The primary dies, the standby takes its place, and the primary comes back as it was.
    async fn split() -> Self {
        let pair = Self::start().await;
        pair.primary.kill();
        pair.standby.promote();
        pair.primary.restart();
        pair
    }

    fn old_first(&self) -> String {
        url(&[self.primary.port(), self.standby.port()])
    }

    fn new_first(&self) -> String {
        url(&[self.standby.port(), self.primary.port()])
    }
}

fn url(ports: &[u16]) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres://{APP}:{PASSWORD}@{}/postgres", hosts.join(","))
}

#[tokio::test]
async fn an_old_primary_that_comes_back_is_not_taken_for_the_one_that_took_its_place() {
    let pair = ReplicatedServers::start().await;
    let leader = StoreCandidate::at(&pair.old_first(), "e", "leader");
    leader.granted().await;
    leader.resign().await.unwrap();
    pair.standby.await_all_of(&pair.primary);
    pair.primary.kill();
    pair.standby.promote();
    let term = leader.granted_soon().await;
    assert_eq!(term.get() >> 40, 2, "it leads on the second timeline");
    pair.primary.restart();
    for address in [pair.old_first(), pair.new_first()] {
        let fresh = StoreCandidate::at(&address, "e", "fresh");
        assert_eq!(fresh.held().await.leader.unwrap().candidate, id("leader"), "{address}");
    }
    leader.keeps(term).await;
}

#[tokio::test]
async fn who_has_seen_a_timeline_does_not_go_below_it_when_a_connection_is_cut() {
    let pair = ReplicatedServers::start().await;
    let candidate = StoreCandidate::at(&pair.old_first(), "e", "candidate");
    candidate.granted().await;
    candidate.resign().await.unwrap();
    pair.standby.await_all_of(&pair.primary);
    let stopped = pair.primary.pause();
    pair.standby.promote();
    let term = until("a grant", async || {
        let reply = tokio::time::timeout(Duration::from_secs(1), candidate.campaign()).await;
        reply.ok()?.ok().as_ref().and_then(term_of)
    })
    .await;
    drop(stopped);
    eventually("the old primary", || pair.primary.is_primary());
    pair.standby.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'");
    until("the same lease", async || candidate.renew(term).await.ok()).await;
    candidate.keeps(term).await;

    pair.standby.kill();
    let refused = until("a refusal", async || {
        candidate.campaign().await.err().filter(|error| error.kind() != StoreErrorKind::Unavailable)
    })
    .await;
    assert_eq!(refused.kind(), StoreErrorKind::Replaced, "{refused}");
    assert!(refused.to_string().contains("timeline 1") && refused.to_string().contains("timeline 2"), "{refused}");
}

#[tokio::test]
async fn who_hangs_on_a_primary_whose_synchronous_standby_was_promoted_moves_on() {
    let pair = ReplicatedServers::start().await;
    pair.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    pair.primary.sql("SELECT pg_reload_conf()");
    let is_synchronous = || pair.primary.sql("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").len() == 1;
    eventually("a standby that confirms", is_synchronous);
    let candidate = StoreCandidate::at(&pair.old_first(), "e", "candidate");
    let before = candidate.granted().await;
    pair.standby.cut();
    pair.standby.promote();
    let hung_at = Instant::now();
    let attempt = async || {
        let campaign = tokio::time::timeout(Duration::from_secs(1), candidate.campaign());
        match campaign.await {
            Ok(Ok(CampaignReply::Granted { term })) => Some(term),
            _ => None,
        }
    };
    let term = until("a grant by the new primary", attempt).await;
    assert_eq!(term, before, "the lease was confirmed, and is still there");
    let fresh = StoreCandidate::at(&pair.old_first(), "e", "fresh");
    assert_eq!(fresh.held().await.leader.unwrap().candidate, id("candidate"));
    assert!(hung_at.elapsed() < Duration::from_secs(10), "{:?}", hung_at.elapsed());
}

#[tokio::test]
async fn who_could_reach_only_the_old_primary_moves_when_the_new_one_is_there() {
    let pair = ReplicatedServers::split().await;
    let link = Proxy::before(pair.standby.address()).unwrap();
    link.refuse();
    let candidate = StoreCandidate::at(&url(&[pair.primary.port(), link.address().port()]), "e", "candidate");
    let stale = candidate.granted().await;
    assert_eq!(stale.get() >> 40, 1, "nobody could know better");
    link.heal();
    let moved = async || candidate.campaign().await.ok().as_ref().and_then(term_of).filter(|term| *term > stale);
    let term = until("a term of the new primary", moved).await;
    assert_eq!(term.get() >> 40, 2);
}

#[tokio::test]
async fn the_doctor_complains_of_two_primaries_and_names_the_one_to_stop() {
    let pair = ReplicatedServers::split().await;
    let findings = open(&pair.old_first()).examine().await;
    let hosts = findings.iter().find(|finding| finding.check == "hosts").unwrap();
    let old = format!("127.0.0.1:{} (timeline 1)", pair.primary.port());
    assert!(hosts.severity == Severity::Bad && hosts.detail.contains(&old), "{hosts:?}");

    pair.primary.kill();
    let findings = open(&pair.old_first()).examine().await;
    let hosts = findings.iter().find(|finding| finding.check == "hosts").unwrap();
    assert!(hosts.severity == Severity::Warning && hosts.detail.contains("do not answer"), "{hosts:?}");
}

/// Timelines cannot tell them apart, so terms have to.
#[tokio::test]
async fn of_two_that_were_promoted_alike_the_one_that_forgot_is_left_when_the_other_is_there() {
    let pair = ReplicatedServers::start().await;
    let other = Standby::of(&pair.primary);
    pair.primary.kill();
    pair.standby.promote();
    other.promote();
    let address = url(&[pair.standby.port(), other.port()]);
    let candidate = StoreCandidate::at(&address, "e", "candidate");
    candidate.granted().await;
    candidate.resign().await.unwrap();
    let term = candidate.granted().await;
    assert_eq!(term.get(), (2 << 40) + 2);

    pair.standby.kill();
    let forgetful = async || candidate.campaign().await.ok().as_ref().and_then(term_of);
    let less = until("a term of the other one", forgetful).await;
    assert_eq!(less.get(), (2 << 40) + 1);
    pair.standby.restart();
    let back = async || candidate.campaign().await.ok().as_ref().and_then(term_of).filter(|shown| *shown >= term);
    assert_eq!(until("the one that remembers", back).await, term);
}
