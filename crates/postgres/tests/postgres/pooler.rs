//! Behind PgBouncer.

use std::time::Duration;

use tenure::store::Interest;
use tenure_testkit::postgres::{PgBouncer, PoolMode, PostgresServer, SqlSession};

use crate::support::{APP, PASSWORD, StoreCandidate, TTL, id, migrate, next, open, options, until};

async fn server() -> PostgresServer {
    let server = PostgresServer::start_with(options());
    migrate(&server.url()).await;
    server
}

#[tokio::test]
async fn elections_are_held_however_few_connections_there_are() {
    let server = server().await;
    for (pool_size, ignored) in [(1, &[][..]), (5, &[]), (1, &["options"]), (5, &["options"])] {
        let pooler = PgBouncer::start_ignoring(&server, PoolMode::Transaction, pool_size, ignored);
        let election = format!("{pool_size} {ignored:?}");
        let handles = [0, 1].map(|_| open(&pooler.url_as(APP, PASSWORD)));
        // Those who watch listen, too, as long as they do not know that it is in vain.
        let _hints = handles.each_ref().map(|handle| handle.watch(Interest::Own));
        let [first, second] =
            [0, 1].map(|place| StoreCandidate::new(&handles[place], &election, ["first", "second"][place]));
        let mut last = None;
        for _ in 0..5 {
            let term = first.granted().await;
            assert!(Some(term) > last);
            first.keeps(term).await;
            assert_eq!(second.held().await.leader.unwrap().term, term);
            assert!(second.store.request_handover(&second.key, Some(&id("second"))).await.unwrap());
            first.resign().await.unwrap();
            last = Some(second.granted().await);
            second.resign().await.unwrap();
        }
        // Nobody would tell it of a resignation.
        first.granted().await;
        let looks_again = until("a handle that knows that nobody tells it", async || {
            let held = second.held().await;
            (held.remaining <= Duration::from_secs(3)).then_some(held)
        });
        assert!(looks_again.await.remaining < TTL);
    }
}

#[tokio::test]
async fn sessions_that_are_kept_hear_of_changes() {
    let server = server().await;
    let pooler = PgBouncer::start(&server, PoolMode::Session, 20);
    let handles = [0, 1].map(|_| open(&pooler.url_as(APP, PASSWORD)));
    let (first, second) =
        (StoreCandidate::new(&handles[0], "e", "first"), StoreCandidate::new(&handles[1], "e", "second"));
    let (mut hints, mut changes) = (handles[1].watch(Interest::Own), handles[1].watch(Interest::All));
    assert_eq!(next(&mut changes).await.key, None, "it listens");
    first.granted().await;
    second.held().await;
    first.resign().await.unwrap();
    let hint = next(&mut hints).await;
    assert_eq!((hint.key, hint.after), (Some(second.key.clone()), Duration::ZERO));
    second.granted().await;
}

/// Others get the same connections after us.
#[tokio::test]
async fn nothing_of_ours_stays_on_a_connection_that_others_use() {
    let server = server().await;
    for pool_size in [1, 3] {
        let pooler = PgBouncer::start(&server, PoolMode::Transaction, pool_size);
        let mut others = SqlSession::open(&pooler.url_as(APP, PASSWORD)).unwrap();
        let settings =
            "SELECT name, setting FROM pg_settings WHERE name <> 'application_name' AND name NOT LIKE 'plpgsql.%'";
        let before = others.run(settings).unwrap();
        let store = open(&pooler.url_as(APP, PASSWORD));
        let hints = store.watch(Interest::All);
        let election = format!("pool of {pool_size}");
        let (first, second) =
            (StoreCandidate::new(&store, &election, "first"), StoreCandidate::new(&store, &election, "second"));
        let term = first.granted().await;
        first.keeps(term).await;
        second.held().await;
        until("a handle that knows that it hears nothing", async || {
            (second.held().await.remaining < TTL / 2).then_some(())
        })
        .await;
        first.resign().await.unwrap();
        drop(hints);

        let mut sessions: Vec<SqlSession> =
            (0..pool_size).map(|_| SqlSession::open(&pooler.url_as(APP, PASSWORD)).unwrap()).collect();
        // The handle may be finding out just now whether it hears anything, and tidies up after itself.
        until("connections without a trace of ours", async || {
            let mut traces = Vec::new();
            // With transactions open at the same time, each connection of the pool is seen once.
            for session in &mut sessions {
                session.run("BEGIN").unwrap();
                traces.extend(session.run(settings).unwrap().into_iter().filter(|row| !before.contains(row)));
                traces.extend(session.run("SELECT pg_listening_channels()").unwrap());
            }
            sessions.iter_mut().for_each(|session| drop(session.run("ROLLBACK").unwrap()));
            traces.is_empty().then_some(())
        })
        .await;
    }
}
