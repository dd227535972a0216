//! Elections that are spread over the nodes of a cluster, and slots that move.

use std::time::{Duration, Instant};

use tenure::store::StoreErrorKind;
use tenure_core::{RenewReply, WriteOutcome};
use tenure_testkit::bound::within;
use tenure_testkit::redis::{RedisCluster, RedisServer};

use crate::support::{StoreCandidate, assert_told, granted, held, open, term_of, until};

#[tokio::test]
async fn a_batch_over_all_slots_is_answered_in_order_in_one_round_trip_per_node() {
    let cluster = RedisCluster::start();
    let (store, other) = (open(&cluster.url()), open(&cluster.url()));
    let leaders: Vec<_> =
        (0..300).map(|n| StoreCandidate::new(&store, &format!("e{n}"), &format!("leader{n}"))).collect();
    let requests: Vec<_> = leaders.iter().map(StoreCandidate::request).collect();
    let terms: Vec<_> = store.campaign(&requests).await.into_iter().map(granted).collect();
    let renewals: Vec<_> = leaders.iter().zip(&terms).map(|(leader, term)| leader.renewal(*term)).collect();
    store.renew(&renewals).await.into_iter().for_each(|reply| drop(reply.unwrap()));

    let followers: Vec<_> =
        (0..300).map(|n| StoreCandidate::new(&other, &format!("e{n}"), "follower").request()).collect();
    for (n, reply) in other.campaign(&followers).await.into_iter().enumerate() {
        assert_eq!(held(reply).leader.unwrap().candidate.to_string(), format!("leader{n}"));
    }

    let primaries = &cluster.nodes()[..3];
    let counts = || primaries.iter().map(|node| (node.calls("evalsha"), reads(node))).collect::<Vec<_>>();
    let before = counts();
    store.renew(&renewals).await.into_iter().for_each(|reply| drop(reply.unwrap()));
    let after = counts();
    let slots = |node: usize| {
        let slot_of = |n: usize| cluster.slot_of(&format!("tenure:default:e{n}"));
        let theirs = (0..300).map(slot_of).filter(|slot| usize::from(*slot) * 3 / 16_384 == node);
        theirs.collect::<std::collections::BTreeSet<u16>>().len() as u64
    };
    for node in 0..3 {
        assert_eq!(after[node].0 - before[node].0, slots(node), "one call for each slot");
        let reads = after[node].1 - before[node].1;
        assert!(reads < slots(node) / 2, "{} calls came in {reads} pieces", slots(node));
    }
}

#[tokio::test]
async fn a_lease_is_renewed_throughout_while_its_slot_moves() {
    let cluster = RedisCluster::start();
    let leader = StoreCandidate::new(&open(&cluster.url()), "e", "leader");
    let term = leader.granted().await;
    leader.keeps(term).await;
    let slot = cluster.slot_of(LEASE);
    let from = cluster.owner_of(LEASE);
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).unwrap();

    let moving = cluster.move_slot(slot, from, to);
    leader.keeps(term).await;
    // Some keys are here and some are there: nobody can serve both, and the server says so.
    let mut refused = 0;
    while moving.move_keys(1) == 1 {
        match leader.renew(term).await {
            Ok(reply) => assert!(matches!(reply, tenure_core::RenewReply::Renewed { .. }), "{reply:?}"),
            Err(error) => {
                assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["TRYAGAIN", "wait a moment"]);
                refused += 1;
            }
        }
    }
    assert!(refused >= 1, "there was a moment when the two keys of a renewal were apart");
    // All keys have moved, and the slot has not yet: the old owner sends us there for this once.
    let asked = to.calls("asking");
    leader.keeps(term).await;
    assert_eq!(to.calls("asking") - asked, 1);
    // Some keys of an election need not exist, and a node cannot tell those from keys that are elsewhere.
    let follower = StoreCandidate::new(&leader.store, "e", "follower");
    assert_told(&follower.refused().await, StoreErrorKind::Unavailable, WriteOutcome::Refused, &["TRYAGAIN"]);
    moving.finish();
    let before = from.calls("evalsha");
    leader.keeps(term).await;
    leader.keeps(term).await;
    assert!(from.calls("evalsha") - before <= 1, "the new owner is remembered");
    assert_eq!(follower.held().await.leader.unwrap().term, term);
    assert_eq!(cluster.owner_of(LEASE).port(), to.port());
}

#[tokio::test]
async fn looking_for_a_slot_that_has_moved_costs_no_connection() {
    let cluster = RedisCluster::start();
    let store = open(&cluster.url());
    let candidates: Vec<_> = (0..30).map(|n| StoreCandidate::new(&store, &format!("e{n}"), "a")).collect();
    let requests: Vec<_> = candidates.iter().map(StoreCandidate::request).collect();
    let terms: Vec<_> = store.campaign(&requests).await.into_iter().map(granted).collect();
    let renewals: Vec<_> = candidates.iter().zip(&terms).map(|(leader, term)| leader.renewal(*term)).collect();
    let connections = || cluster.nodes()[..3].iter().map(connections_of).collect::<Vec<_>>();
    let before = connections();

    for lease in ["tenure:default:e1", "tenure:default:e2", "tenure:default:e3"] {
        let from = cluster.owner_of(lease);
        let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).unwrap();
        cluster.move_slot(cluster.slot_of(lease), from, to).finish();
        store.renew(&renewals).await.into_iter().for_each(|reply| drop(reply.unwrap()));
    }
    // Nodes connect to each other to move keys, so there are more than before.
    let after = connections();
    let are_kept = before.iter().zip(&after).all(|(before, after)| before.iter().all(|client| after.contains(client)));
    assert!(are_kept, "of the connections {before:?}, some are not among {after:?}");
}

#[tokio::test]
async fn a_cluster_with_a_slot_that_nobody_serves_says_so() {
    let cluster = RedisCluster::start();
    let leader = StoreCandidate::new(&open(&cluster.url()), "e", "leader");
    let term = leader.granted().await;
    let owner = cluster.owner_of(LEASE);
    // Another slot than the one of the election: the cluster wants all of them to be served.
    let lost = (cluster.slot_of(LEASE) ^ 1).to_string();
    owner.command(&["CLUSTER", "DELSLOTS", &lost]);

    let error = until("a cluster that is down", async || leader.renew(term).await.err()).await;
    assert_told(
        &error,
        StoreErrorKind::Unavailable,
        WriteOutcome::Refused,
        &["CLUSTERDOWN", "parts of the cluster are down"],
    );

    owner.command(&["CLUSTER", "ADDSLOTS", &lost]);
    until("a cluster that is up", async || leader.renew(term).await.ok()).await;
    leader.keeps(term).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_was_killed_is_left_for_its_replica() {
    let cluster = RedisCluster::start();
    let store = open(&cluster.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let term = leader.granted().await;
    cluster.owner_of(LEASE).kill();
    until("an answer of the replica", async || {
        tokio::time::timeout(Duration::from_secs(1), leader.renew(term)).await.ok()?.ok()
    })
    .await;
    let next = StoreCandidate::new(&store, "another", "next");
    assert!(until("a grant", async || next.campaign().await.ok().as_ref().and_then(term_of)).await > term);
    assert!(cluster.owner_of(LEASE).is_primary());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_is_left_and_does_not_hold_up_the_others() {
    let cluster = RedisCluster::start();
    let store = open(&cluster.url());
    let owner = cluster.owner_of(LEASE);
    let leader = StoreCandidate::new(&store, "e", "leader");
    leader.granted().await;
    let elsewhere: Vec<StoreCandidate> = (0..50)
        .map(|n| format!("other{n}"))
        .filter(|name| cluster.owner_of(&format!("tenure:default:{name}")).port() != owner.port())
        .map(|name| StoreCandidate::new(&store, &name, "leader"))
        .take(2)
        .collect();
    let term = elsewhere[0].granted().await;

    let _paused = owner.pause();
    let asked = Instant::now();
    let unanswered = tokio::time::timeout(Duration::from_millis(300), leader.campaign()).await;
    assert!(unanswered.is_err(), "an answer of somebody who stands still: {unanswered:?}");
    until("an answer of another node", async || {
        tokio::time::timeout(Duration::from_secs(1), elsewhere[0].keeps(term)).await.ok()
    })
    .await;
    within("an answer of another node", asked.elapsed(), Duration::from_secs(5));
    until("an answer of the replica", async || {
        tokio::time::timeout(Duration::from_secs(1), leader.campaign()).await.ok()?.ok()
    })
    .await;
    within("an answer of the replica", asked.elapsed(), Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_shares_a_batch_with_a_node_that_hangs_is_answered() {
    let cluster = RedisCluster::start();
    let store = open(&cluster.url());
    let owner = cluster.owner_of(LEASE);
    let is_elsewhere = |name: &String| cluster.owner_of(&format!("tenure:default:{name}")).port() != owner.port();
    let name = (0..50).map(|n| format!("other{n}")).find(is_elsewhere).unwrap();
    let (here, elsewhere) = (StoreCandidate::new(&store, "e", "here"), StoreCandidate::new(&store, &name, "elsewhere"));
    let renewals = [here.renewal(here.granted().await), elsewhere.renewal(elsewhere.granted().await)];

    let _paused = owner.pause();
    let asked = Instant::now();
    let replies = store.renew(&renewals).await;
    within("the answers to a batch", asked.elapsed(), Duration::from_secs(2));
    let silence = replies[0].as_ref().unwrap_err();
    assert_told(silence, StoreErrorKind::TimedOut, WriteOutcome::Unknown, &["does not answer, although others do"]);
    assert_eq!(replies[1].as_ref().unwrap(), &RenewReply::Renewed { handover: None });
}

/// How often this node has read something from a connection.
fn reads(node: &RedisServer) -> u64 {
    node.info("stats", "total_reads_processed").unwrap().parse().unwrap()
}

/// The numbers of those who are connected through the port.
fn connections_of(node: &RedisServer) -> Vec<String> {
    let clients: String = redis::from_redis_value(node.command(&["CLIENT", "LIST", "TYPE", "normal"])).unwrap();
    let through_port = clients.lines().filter(|line| line.contains(" addr=127.0.0.1:"));
    through_port.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

const LEASE: &str = "tenure:default:e";
