//! Grants that count only when a replica has them.

use std::time::Duration;

use tenure::store::StoreErrorKind;
use tenure::store::ledger::Claimed;
use tenure::{Client, Timing};
use tenure_core::WriteOutcome;
use tenure_testkit::proxy::{Direction, Proxy, ProxyFault};
use tenure_testkit::redis::{RedisOptions, RedisServer};

use crate::messages::{new_message, send};
use crate::support::{StoreCandidate, assert_told, id, open, term_of, until};

#[tokio::test]
async fn a_grant_that_no_replica_has_is_of_no_use() {
    let (primary, replica) = pair().await;
    let store = open(&format!("{}?wait_replicas=1", primary.url()));
    let (first, second) = (StoreCandidate::new(&store, "first", "a"), StoreCandidate::new(&store, "second", "a"));
    let wins = async |candidate: &StoreCandidate| {
        // A replica of a busy machine may be late.
        until("a grant", async || candidate.campaign().await.ok().as_ref().and_then(term_of)).await
    };
    let term = wins(&first).await;
    let copied: String = redis::from_redis_value(replica.command(&["GET", "tenure:default:first"])).unwrap();
    assert_eq!(copied, "a", "what was granted is there");

    let paused = replica.pause();
    let error = second.refused().await;
    let words = ["only 0 of 1 replicas have confirmed", "is given back"];
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unusable, &words);
    second.resign().await.unwrap();
    assert_eq!(primary.command(&["EXISTS", "tenure:default:second"]), redis::Value::Int(0));
    assert_eq!(second.observe().await.lease, None);
    // Leases that were granted go on: renewing gives nothing away.
    first.keeps(term).await;
    assert_eq!(StoreCandidate::new(&store, "first", "b").held().await.leader.unwrap().term, term);

    drop(paused);
    let second = StoreCandidate::new(&store, "second", "a");
    wins(&second).await;
    assert_eq!(second.observe().await.lease.unwrap().leader.candidate, second.id);
}

#[tokio::test]
async fn a_grant_that_is_given_back_late_does_not_end_the_leadership_after_it() {
    let (primary, replica) = pair().await;
    let proxy = Proxy::before(primary.address()).unwrap();
    let brief = StoreCandidate::new(&open(&primary.url()), "e", "before").with_ttl(Duration::from_secs(3));
    // The server knows all scripts.
    brief.granted().await;
    brief.resign().await.unwrap();
    brief.granted().await;
    let client = Client::open(&format!("redis://{}?wait_replicas=1", proxy.address())).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(6)).unwrap();
    let ours = client.election("e").unwrap().candidate().id(id("ours")).timing(timing).start().unwrap();
    // It has nothing more to ask before that lease ends.
    until("a follower that can be woken", async || {
        let followers = primary.command(&["HVALS", "{tenure:default:e}:standing"]);
        let followers: Vec<String> = redis::from_redis_value(followers).unwrap();
        followers.iter().any(|follower| !follower.starts_with(' ')).then_some(())
    })
    .await;
    // It is answered when the replica has what it wrote; what is written later is confirmed later.
    let mut later = redis::Client::open(primary.url()).unwrap().get_connection().unwrap();
    redis::cmd("SET").arg("later").arg(1).exec(&mut later).unwrap();
    assert_eq!(redis::cmd("WAIT").arg(1).arg(0).query::<i64>(&mut later).unwrap(), 1);
    proxy.changes().wait_for(|counts| counts.replies.waiting == 0).await.unwrap();

    // It is granted the lease, and no replica has it. What it sends when it hears of that stays on its way.
    let paused = replica.pause();
    proxy.inject(Direction::Replies, ProxyFault::Hold);
    let holder = || primary.command(&["GET", "tenure:default:e"]);
    let is_ours = |holder: redis::Value| (holder == redis::Value::BulkString(b"ours".to_vec())).then_some(());
    until("a grant that nobody has heard of", async || is_ours(holder())).await;
    proxy.inject_next(1, Direction::Requests, ProxyFault::Hold);
    proxy.clear(Direction::Replies);
    proxy.changes().wait_for(|counts| counts.requests.waiting > 0).await.unwrap();
    drop(paused);
    let leadership = until("a leader", async || ours.leadership()).await;

    let asked = primary.calls("evalsha");
    proxy.clear(Direction::Requests);
    proxy.changes().wait_for(|counts| counts.requests.waiting == 0).await.unwrap();
    until("what was on its way", async || (primary.calls("evalsha") > asked).then_some(())).await;
    let rival = StoreCandidate::new(&brief.store, "e", "rival").campaign().await.unwrap();
    assert_eq!(term_of(&rival), None, "{rival:?} while {leadership:?} goes on");
    assert!(leadership.is_valid());
}

/// A primary, and a replica that has been heard.
async fn pair() -> (RedisServer, RedisServer) {
    let primary = RedisServer::start_with(RedisOptions::default().line("repl-diskless-sync-delay 0"));
    let following = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = RedisServer::start_with(RedisOptions::default().line(following));
    until("a replica that has been heard", async || {
        primary.info("replication", "slave0").filter(|state| state.contains("state=online"))
    })
    .await;
    (primary, replica)
}

#[tokio::test]
async fn a_message_that_no_replica_has_is_in_doubt_and_may_be_sent_again() {
    let primary = RedisServer::start();
    let store = open(&format!("{}?wait_replicas=1", primary.url()));
    let message = new_message("e", "1");
    let error = send(&store, &message).await.unwrap_err();
    let words = ["only 0 of 1 replicas have confirmed the message", "send it again"];
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unknown, &words);
    let following = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = RedisServer::start_with(RedisOptions::default().line(following));
    until("a message that is confirmed", async || send(&store, &message).await.ok()).await;
    assert_eq!(replica.command(&["XLEN", "{tenure:default:e}:messages"]), redis::Value::Int(1));
}

#[tokio::test]
async fn a_tick_that_no_replica_has_is_in_doubt_and_may_be_claimed_again() {
    let primary = RedisServer::start();
    let leader = StoreCandidate::new(&open(&primary.url()), "e", "leader");
    let term = leader.granted().await;
    let leader = StoreCandidate { store: open(&format!("{}?wait_replicas=1", primary.url())), ..leader };
    let words = ["only 0 of 1 replicas have confirmed the decision"];
    assert_told(&leader.open_job(term).await.unwrap_err(), StoreErrorKind::Unavailable, WriteOutcome::Unknown, &words);
    let error = leader.claim(term, 200).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unknown, &words);
    let following = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = RedisServer::start_with(RedisOptions::default().line(following));
    let claimed = until("a claim that is confirmed", async || leader.claim(term, 200).await.ok()).await;
    assert_eq!((claimed, leader.jobs().await[0].fired), (Claimed::Granted, 1));
    assert_eq!(replica.command(&["HLEN", "{tenure:default:e}:jobs"]), redis::Value::Int(1));
}

#[tokio::test]
async fn a_tick_is_given_back_when_a_replica_knows_of_it() {
    let primary = RedisServer::start();
    let leader = StoreCandidate::new(&open(&primary.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    let leader = StoreCandidate { store: open(&format!("{}?wait_replicas=1", primary.url())), ..leader };
    let error = leader.give_back(term, 200).await.unwrap_err();
    let words = ["only 0 of 1 replicas have confirmed the decision"];
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unknown, &words);
    let following = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = RedisServer::start_with(RedisOptions::default().line(following));
    assert!(until("an answer that is confirmed", async || leader.give_back(term, 200).await.ok()).await);
    assert_eq!(leader.jobs().await[0].fired, 0, "told twice, it counts once");
    let copied: String =
        redis::from_redis_value(replica.command(&["HGET", "{tenure:default:e}:jobs", "backup"])).unwrap();
    assert_eq!(copied, "200 0 1 200! daily");
}

#[tokio::test]
async fn without_any_replica_nothing_is_granted() {
    let primary = RedisServer::start();
    let store = open(&format!("{}?wait_replicas=2", primary.url()));
    let error = StoreCandidate::new(&store, "e", "a").refused().await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unusable, &["only 0 of 2 replicas"]);
}
