//! Poolers that lend sessions from statement to statement, and those that do not.

use tenure::store::StoreErrorKind;
use tenure_core::CampaignReply;
use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresServer};

use super::support::{PASSWORD, ROLE, StoreCandidate, advisory, options};

#[tokio::test]
async fn a_pooler_that_lends_sessions_is_refused() {
    for (mode, size) in [(PoolMode::Transaction, 1), (PoolMode::Transaction, 5), (PoolMode::Statement, 5)] {
        let server = PostgresServer::start_with(options());
        let bouncer = PgBouncer::start(&server, mode, size);
        let url = advisory(&bouncer.url_as(ROLE, PASSWORD));
        let candidates: Vec<StoreCandidate> = (0..4).map(|_| StoreCandidate::at(&url, "1", "one")).collect();
        for _ in 0..3 {
            let mut leaders = 0;
            for candidate in &candidates {
                match candidate.campaign().await {
                    Ok(CampaignReply::Granted { .. }) => leaders += 1,
                    Ok(CampaignReply::Held(_)) => {}
                    Err(error) => {
                        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{error}");
                        assert!(error.to_string().contains("session mode"), "{error}");
                    }
                }
            }
            assert_eq!(leaders, 0, "{mode:?} with {size}");
        }
        let locks = server.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'");
        assert_eq!(locks.len(), 0, "nothing is left locked");
    }
}

#[tokio::test]
async fn a_pooler_that_keeps_sessions_is_as_good_as_none() {
    let server = PostgresServer::start_with(options());
    let bouncer = PgBouncer::start(&server, PoolMode::Session, 10);
    let url = advisory(&bouncer.url_as(ROLE, PASSWORD));
    let (one, other) = (StoreCandidate::at(&url, "1", "one"), StoreCandidate::at(&url, "1", "other"));
    let term = one.granted().await;
    other.held().await;
    one.keeps(term).await;
    drop(one);
    // The session goes back to the pooler, which has to give it back clean.
    assert!(other.granted_soon().await > term);
}
