//! Servers that refuse: what it is called, what became of the write, and that all is well again afterwards.

use std::fs;
use std::thread;

use tenure::store::StoreErrorKind;
use tenure_core::WriteOutcome;
use tenure_testkit::redis::{RedisOptions, RedisServer};

use crate::support::{StoreCandidate, assert_told, granted, open, until};

#[tokio::test]
async fn a_server_without_memory_grants_nothing_and_takes_nothing_away() {
    let server = RedisServer::start();
    let store = open(&server.url());
    let (leader, follower) =
        (StoreCandidate::new(&store, "held", "leader"), StoreCandidate::new(&store, "held", "follower"));
    let newcomer = StoreCandidate::new(&store, "free", "newcomer");
    let term = leader.granted().await;

    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_told(&newcomer.refused().await, StoreErrorKind::Full, WriteOutcome::Refused, &["OOM", "raise maxmemory"]);
    leader.keeps(term).await;
    assert_eq!(follower.held().await.leader.unwrap().term, term);
    assert_eq!(leader.observe().await.lease.unwrap().leader.term, term);
    leader.resign().await.unwrap();
    assert_eq!(leader.observe().await.lease, None);
    leader.has_lost(term).await;

    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    newcomer.granted().await;
    assert!(follower.granted().await > term);
}

#[tokio::test]
async fn a_server_that_cannot_save_takes_no_writes() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    // A directory is where the file should be.
    let in_the_way = server.directory().join("dump.rdb");
    fs::create_dir(&in_the_way).unwrap();
    server.command(&["CONFIG", "SET", "save", "3600 1"]);
    let saves = async |outcome: &str| {
        server.command(&["BGSAVE"]);
        until("the end of a save", async || {
            let is_over = server.info("persistence", "rdb_bgsave_in_progress").unwrap() == "0";
            is_over.then_some(())
        })
        .await;
        assert_eq!(server.info("persistence", "rdb_last_bgsave_status").unwrap(), outcome);
    };

    saves("err").await;
    let error = leader.renew(term).await.unwrap_err();
    assert_told(&error, StoreErrorKind::ReadOnly, WriteOutcome::Refused, &["MISCONF", "check its disk"]);
    let error = StoreCandidate::new(&leader.store, "free", "newcomer").refused().await;
    assert_told(&error, StoreErrorKind::ReadOnly, WriteOutcome::Refused, &["MISCONF"]);
    assert_eq!(leader.observe().await.lease.unwrap().leader.term, term);

    fs::remove_dir(&in_the_way).unwrap();
    saves("ok").await;
    leader.keeps(term).await;
}

#[tokio::test]
async fn a_server_that_loads_its_data_answers_when_it_has_finished() {
    // It looks at its connections after every few bytes, and takes its time with every key.
    let lines = ["enable-debug-command yes", "loading-process-events-interval-bytes 1024"];
    let server = RedisServer::start_with(lines.into_iter().fold(RedisOptions::default(), RedisOptions::line));
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    server.command(&["DEBUG", "POPULATE", "20000"]);
    server.command(&["SAVE"]);
    server.command(&["CONFIG", "SET", "key-load-delay", "2000"]);
    server.command(&["CONFIG", "REWRITE"]);

    server.restart();
    let error = until("a connection", async || {
        // The first one may find out that the connection is gone.
        leader.renew(term).await.err().filter(|error| error.write_outcome() == WriteOutcome::Refused)
    })
    .await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["LOADING", "still loading"]);

    server.command(&["CONFIG", "SET", "key-load-delay", "0"]);
    until("the end of loading", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
}

#[tokio::test]
async fn a_replica_takes_no_writes() {
    let (primary, server) = (RedisServer::start(), RedisServer::start());
    let candidate = StoreCandidate::new(&open(&server.url()), "e", "a");
    candidate.granted().await;
    server.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    until("a replica", async || server.follows().then_some(())).await;

    let error = candidate.refused().await;
    assert_told(&error, StoreErrorKind::ReadOnly, WriteOutcome::Refused, &["READONLY", "elections need the primary"]);

    server.command(&["REPLICAOF", "NO", "ONE"]);
    candidate.granted().await;
}

#[tokio::test]
async fn a_primary_that_wants_replicas_takes_no_writes_without_them() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "a");
    let term = leader.granted().await;

    server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let error = leader.renew(term).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["NOREPLICAS", "too few replicas"]);

    server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    leader.keeps(term).await;
}

#[tokio::test]
async fn a_server_that_is_busy_with_a_script_of_somebody_says_so() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "a");
    let term = leader.granted().await;
    server.command(&["CONFIG", "SET", "busy-reply-threshold", "1"]);
    let mut connection = server.connection();
    let endless = thread::spawn(move || {
        redis::cmd("EVAL").arg("while true do end").arg(0).query::<redis::Value>(&mut connection)
    });
    until("a server that is busy", async || server.try_command(&["PING"]).err()).await;

    let error = leader.renew(term).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["BUSY", "SCRIPT KILL"]);

    server.command(&["SCRIPT", "KILL"]);
    assert!(endless.join().unwrap().is_err(), "the script was killed");
    leader.keeps(term).await;
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_is_brought_them_without_a_word() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "a");
    let term = leader.granted().await;
    leader.keeps(term).await;
    server.command(&["SCRIPT", "FLUSH"]);
    let before = ["evalsha", "eval"].map(|command| server.calls(command));

    leader.keeps(term).await;
    leader.keeps(term).await;
    let after = ["evalsha", "eval"].map(|command| server.calls(command));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [2, 1], "one call more, for the whole script");
}

#[tokio::test]
async fn an_election_whose_key_is_something_else_leaves_the_others_alone() {
    let server = RedisServer::start();
    let store = open(&server.url());
    server.command(&["HSET", "tenure:default:middle", "field", "value"]);
    let candidates = ["first", "middle", "last"].map(|election| StoreCandidate::new(&store, election, "a"));
    let requests = candidates.each_ref().map(StoreCandidate::request);
    let mut replies = store.campaign(&requests).await;
    let error = replies.remove(1).unwrap_err();
    assert_told(
        &error,
        StoreErrorKind::Corrupt,
        WriteOutcome::Refused,
        &["election middle", "\"tenure:default:middle\" is a hash", "tenure forget middle"],
    );
    assert_eq!(replies.into_iter().map(granted).count(), 2);

    server.command(&["DEL", "tenure:default:middle"]);
    candidates[1].granted().await;
}
