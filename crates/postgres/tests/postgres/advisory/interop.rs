//! Elections that are shared with participants that know nothing but `pg_try_advisory_lock` and a number.

use tenure::store::Interest;
use tenure_testkit::postgres::{PostgresDatabase, SqlSession};

use super::support::{PASSWORD, ROLE, SERVER, StoreCandidate, until, url};

/// A participant of another make: a session of its own, on which it tries for the lock now and then.
struct AdvisoryForeigner(SqlSession);

impl AdvisoryForeigner {
    fn new(database: &PostgresDatabase<'_>) -> Self {
        Self(SqlSession::open(&database.url_as(ROLE, PASSWORD)).unwrap())
    }

    fn tries(&mut self, lock: i64) -> bool {
        self.says(&format!("SELECT pg_try_advisory_lock({lock})"))
    }

    fn releases(&mut self, lock: i64) -> bool {
        self.says(&format!("SELECT pg_advisory_unlock({lock})"))
    }

    fn says(&mut self, sql: &str) -> bool {
        self.0.run(sql).unwrap()[0][0].as_deref() == Some("t")
    }
}

#[tokio::test]
async fn a_foreign_leader_is_respected_and_followed() {
    for lock in [4242, -7, i64::MIN, i64::MAX] {
        let database = SERVER.new_database();
        let mut foreigner = AdvisoryForeigner::new(&database);
        let candidate = StoreCandidate::at(&url(&database), &lock.to_string(), "ours");
        assert!(foreigner.tries(lock));
        let first = candidate.held().await.leader.unwrap();
        assert_eq!(candidate.held().await.leader.unwrap(), first, "it has one term as long as it leads");
        let asked = candidate.store.request_handover(&candidate.key, None).await.unwrap_err();
        assert!(asked.to_string().contains("cannot be asked to hand over"), "{asked}");
        let lease = candidate.observe().await.lease.unwrap();
        assert_eq!((lease.term, lease.leader.since_unix_ms), (None, None), "it has drawn no term");
        assert_eq!((lease.remaining, lease.ttl), (None, None), "nobody knows");
        assert!(foreigner.releases(lock));
        assert!(candidate.granted_soon().await > first.term);
    }
}

#[tokio::test]
async fn a_foreign_leader_that_is_gone_is_missed_at_once() {
    let database = SERVER.new_database();
    let mut foreigner = AdvisoryForeigner::new(&database);
    assert!(foreigner.tries(99));
    let candidate = StoreCandidate::at(&url(&database), "99", "ours");
    let mut hints = candidate.store.watch(Interest::Own);
    candidate.held().await;
    until("the one who waits", async || {
        candidate.held().await;
        (super::support::locks(&database, "NOT granted") == 1).then_some(())
    })
    .await;
    drop(foreigner);
    let hint = tokio::time::timeout(super::support::PATIENCE, futures_util::StreamExt::next(&mut hints)).await;
    assert!(hint.is_ok(), "nobody was woken");
    candidate.granted_soon().await;
}

#[tokio::test]
async fn a_foreign_participant_is_kept_out_until_we_resign_or_are_gone() {
    let database = SERVER.new_database();
    let mut foreigner = AdvisoryForeigner::new(&database);
    let candidate = StoreCandidate::at(&url(&database), "4242", "ours");
    let first = candidate.granted().await;
    assert!(!foreigner.tries(4242));
    candidate.resign().await.unwrap();
    assert!(foreigner.tries(4242));
    let foreign = candidate.held().await.leader.unwrap().term;
    assert!(foreign >= first);
    assert!(foreigner.releases(4242));
    assert!(candidate.granted_soon().await > foreign);
    drop(candidate);
    until("the end of our session", async || foreigner.tries(4242).then_some(())).await;
}

#[tokio::test]
async fn another_namespace_is_another_lock() {
    let database = SERVER.new_database();
    let mut foreigner = AdvisoryForeigner::new(&database);
    assert!(foreigner.tries(4242));
    let mut candidate = StoreCandidate::at(&url(&database), "4242", "ours");
    candidate.key.namespace = tenure_core::Namespace::new("staging").unwrap();
    candidate.granted().await;
}
