//! Servers that fail over to a standby that lags behind, or come back with what they had earlier.

use std::process::Command;
use std::time::Duration;

use tenure::{Client, ElectionError, EventKind, Timing};
use tenure_core::{Anomaly, RenewReply};
use tenure_testkit::postgres::{PostgresServer, Standby, StopMode};

use crate::support::{APP, PASSWORD, PATIENCE, StoreCandidate, id, migrate, open, options, term_of, until};

#[tokio::test]
async fn after_a_failover_that_forgets_terms_are_greater_and_handles_follow() {
    let primary = PostgresServer::start_with(options());
    migrate(&primary.url()).await;
    let standby = Standby::of(&primary);
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let store = open(&format!("postgres://{APP}:{PASSWORD}@{hosts}/postgres"));
    let (first, second) = (StoreCandidate::new(&store, "e", "first"), StoreCandidate::new(&store, "e", "second"));
    let kept = first.granted().await;
    assert_eq!(kept.get(), (1 << 40) + 1, "the first term of the first timeline");
    standby.await_all_of(&primary);

    standby.cut();
    first.resign().await.unwrap();
    let lost = second.granted().await;
    assert!(lost > kept);
    let unknown = StoreCandidate::new(&store, "unknown", "first");
    let forgotten = unknown.granted().await;
    primary.kill();
    standby.promote();

    let shown = until("the other host", async || second.renew(lost).await.ok()).await;
    assert_eq!(shown, RenewReply::NotHolder { current: Some(kept) }, "its grant was lost");
    assert_eq!(unknown.has_lost(forgotten).await, None);
    first.resign().await.unwrap();
    let next = second.granted().await;
    assert_eq!(next.get(), (2 << 40) + 1, "the first term of the second timeline");
    assert_eq!(unknown.granted().await.get(), (2 << 40) + 1);
    let third = StoreCandidate::new(&open(&standby.url_as(APP, PASSWORD)), "e", "third");
    assert_eq!(third.held().await.leader.unwrap().candidate, id("second"));
}

#[tokio::test]
async fn a_standby_alone_is_named_as_such_and_the_primary_is_found_beside_it() {
    let primary = PostgresServer::start_with(options());
    migrate(&primary.url()).await;
    let standby = Standby::of(&primary);
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", standby.port(), primary.port());
    let both = StoreCandidate::new(&open(&format!("postgres://{APP}:{PASSWORD}@{hosts}/postgres")), "e", "a");
    let term = both.granted().await;
    both.keeps(term).await;
    assert_eq!(term_of(&both.campaign().await.unwrap()), Some(term));
}

#[tokio::test]
async fn who_has_seen_a_higher_term_does_not_trust_a_restored_backup() {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    let [data, backup] = ["data", "backup"].map(|name| server.directory().join(name));
    let copy = |from, to| {
        let _ = std::fs::remove_dir_all(to);
        assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    server.stop(StopMode::Fast);
    copy(&data, &backup);
    server.restart();

    let client = Client::open(&server.url_as(APP, PASSWORD)).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(2)).unwrap();
    let candidacy = client.election("e").unwrap().candidate().timing(timing).start().unwrap();
    let first = candidacy.elected().await.unwrap().term();
    candidacy.resign().await.unwrap();
    let second = until("another term", async || candidacy.leadership().filter(|now| now.term() > first)).await.term();
    let mut events = candidacy.events();

    server.kill();
    copy(&backup, &data);
    server.restart();
    let regression = async {
        loop {
            let event = events.next().await.expect("events go on");
            if let EventKind::Error { error: ElectionError::Anomaly(Anomaly::Regressed { seen, shown }) } = event.kind {
                return (seen, shown);
            }
        }
    };
    let (seen, shown) = tokio::time::timeout(PATIENCE, regression).await.expect("the candidate notices");
    assert!(seen == second && shown < second, "{shown:?} was shown after {seen:?}");
    assert!(!candidacy.is_leader());
    let later = until("a term that nobody has seen", async || candidacy.leadership()).await;
    assert!(later.term() > second, "{later:?} after {second:?}");
}
