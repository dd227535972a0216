//! Elections that move from one Redis server to another.

use std::rc::Rc;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::bound::{boot_ns, within};
use tenure_testkit::eventually;
use tenure_testkit::process::{Paused, ProcessHandle};
use tenure_testkit::redis::{RedisCluster, RedisServer, SentinelGroup};
use tenure_testkit::scenario::Scenario;
use tenure_testkit::test_timing::TestTiming;

use crate::{PATIENT_ENOUGH, assert_terms_never_fall, goes_on, renewals_since, scenario_at, until_told};

/// Where the lease of the election is kept.
const LEASE: &str = "tenure:default:nightly";

pub(crate) fn case_64_when_the_primary_dies_terms_grow_and_two_lead_no_longer_than_admitted() {
    fail_over(|primary| {
        primary.kill();
        None
    });
}

/// The old primary wakes up when there is a new one, and does not know it at first.
pub(crate) fn case_64_when_the_primary_is_paused_and_resumed_terms_grow_and_two_lead_no_longer_than_admitted() {
    fail_over(|primary| Some(primary.pause()));
}

/// Replicas follow asynchronously, so a grant may be forgotten: then the leader is told by its next renewal.
fn fail_over(strike: impl Fn(&RedisServer) -> Option<Paused>) {
    let servers = Rc::new(SentinelGroup::start());
    let scenario = scenario_at(Rc::clone(&servers)).with_timing(PATIENT_ENOUGH);
    let candidates = [("a", scenario.candidate("a")), ("b", scenario.candidate("b"))];
    let first = scenario.next_start();
    let primary = servers.primary();
    let struck_ns = boot_ns();
    let paused = strike(primary);
    servers.await_new_primary(primary.port());
    println!("a new primary after {} ms", (boot_ns() - struck_ns) / 1_000_000);
    drop(paused);
    // Longer than any lease lasts that was not renewed since.
    let replaced_ns = boot_ns();
    assert!(!candidates[0].1.running.process.ends_within(scenario.timing().more_than_a_lease()));
    eventually("renewals at the new primary", || renewals_since(&scenario, replaced_ns) > 0);
    let starts = scenario.journal().starts();
    println!("{} changes of leaders by a failover", starts - 1);
    assert!(starts <= 2, "{:#?}", scenario.events());
    within("two workers at once", scenario.journal().longest_overlap(), until_told(&scenario));
    let status = scenario.status();
    assert!(status["term"].as_u64().unwrap() >= first.term, "{status} after {first:?}");
    // Whoever leads now hands over, and the next term is higher still.
    let (_, leader) = candidates.iter().find(|(id, _)| status["leader"] == *id).unwrap();
    leader.signal(Signal::TERM);
    eventually("one more leader", || scenario.journal().starts() > starts);
    assert_terms_never_fall(&scenario);
}

/// The worst that asynchronous replicas allow: the one that is promoted has never heard of the lease. Its leader is told
/// by its next renewal, and until then there may be two, which is what the documentation admits.
pub(crate) fn case_64_after_a_failover_to_a_replica_without_the_lease_two_may_lead_until_the_next_renewal() {
    let servers = Rc::new(SentinelGroup::start());
    // The lease outlasts any failover, so that it is the new primary that ends it.
    let scenario = scenario_at(Rc::clone(&servers)).with_timing(TestTiming::from_millis(60_000, 1_000, 300));
    let primary = servers.primary();
    let replicas = servers.nodes().iter().filter(|node| node.port() != primary.port());
    let paused: Vec<Paused> = replicas.map(RedisServer::pause).collect();
    // What is on its way to them would arrive after all when they wake up, so there must be no way.
    drop(primary.command(&["CLIENT", "KILL", "TYPE", "replica"]));
    let leader = scenario.candidate("a");
    let first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    primary.kill();
    drop(paused);
    servers.await_new_primary(primary.port());
    let lost = leader.event("lost");
    assert!(["revoked", "superseded", "regressed"].iter().any(|reason| lost["reason"] == *reason), "{lost}");
    let second = scenario.next_start();
    println!("{} leads after {lost}", second.candidate);
    assert!(second.term > first.term, "{second:?} after {first:?}");
    eventually("the end of the first work", || ProcessHandle::open(first.pid).is_dead());
    within("two workers at once", scenario.journal().longest_overlap(), until_told(&scenario));
    assert_terms_never_fall(&scenario);
}

/// Key by key, while the leader renews: halfway a script finds some of its keys here and some there.
pub(crate) fn case_67_a_slot_that_moves_to_another_node_of_a_cluster_costs_nothing() {
    let cluster = Rc::new(RedisCluster::start());
    let scenario = scenario_at(Rc::clone(&cluster)).with_timing(PATIENT_ENOUGH);
    let _leader = scenario.candidate("a");
    let first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    let from = cluster.owner_of(LEASE);
    let to = cluster.nodes()[..3].iter().find(|node| node.port() != from.port()).unwrap();
    let moving = cluster.move_slot(cluster.slot_of(LEASE), from, to);
    let mut moved = 0;
    while moving.move_keys(1) > 0 {
        moved += 1;
        let moved_ns = boot_ns();
        // Waits because the leader is to meet this state; a renewal that is refused is as good as one that is done.
        eventually("a renewal, or a refusal", || {
            renewals_since(&scenario, moved_ns) + refusals_since(&scenario, moved_ns) > 0
        });
    }
    assert!(moved > 2, "only {moved} keys were moved");
    moving.finish();
    assert_eq!(cluster.owner_of(LEASE).port(), to.port());
    println!("{} refusals while {moved} keys moved", refusals_since(&scenario, 0));
    goes_on(&scenario, &first);
    scenario.judge();
}

fn refusals_since(scenario: &Scenario, since_ns: u64) -> usize {
    let is_refusal = |event: &&Value| event["event"] == "error" && event["boot_ns"].as_u64().unwrap() > since_ns;
    scenario.events().iter().filter(is_refusal).count()
}
