//! A Redis server that forgets what it has granted, or is asked to remember it.

use std::rc::Rc;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::bound::{boot_ns, within, within_ns};
use tenure_testkit::eventually;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::proxy::{Direction, ProxyFault};
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::Redis;
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::worker::WorkerStart;

use crate::{PATIENT_ENOUGH, goes_on, renewals_since, scenario, scenario_at, until_told};

/// Nothing tells the leader that its lease is gone, but its next renewal. Whoever comes before that is a second leader,
/// with a higher term: this is what the documentation admits.
pub(crate) fn case_62_after_flushall_two_may_lead_until_the_next_renewal_and_terms_go_on_growing() {
    let server = Rc::new(RedisServer::start());
    let scenario = scenario_at(Rc::clone(&server));
    let mut candidates = vec![scenario.candidate("a")];
    let mut first = scenario.next_start();
    for round in 0..3 {
        let flushed_ns = boot_ns();
        drop(server.command(&["FLUSHALL"]));
        // It asks at once, and nobody else may be in its way.
        candidates.push(scenario.candidate(&format!("newcomer-{round}")));
        first = is_succeeded(&scenario, &first, flushed_ns);
    }
}

pub(crate) fn case_62_after_a_restart_without_persistence_two_may_lead_until_the_next_renewal() {
    let server = Rc::new(RedisServer::start());
    let scenario = scenario_at(Rc::clone(&server));
    let _leader = scenario.candidate("a");
    let first = scenario.next_start();
    server.kill();
    server.restart();
    let restarted_ns = boot_ns();
    let _newcomer = scenario.candidate("b");
    is_succeeded(&scenario, &first, restarted_ns);
}

/// Somebody leads after the lease was forgotten, be it the same as before; the old leader is told by its next renewal at
/// the latest, and its work ends.
fn is_succeeded(scenario: &Scenario, first: &WorkerStart, forgotten_ns: u64) -> WorkerStart {
    ProcessHandle::open(first.pid).await_end("the work under a lease that was forgotten");
    let is_loss = |event: &Value| event["event"] == "lost" && event["term"] == first.term;
    eventually("the loss", || scenario.events().iter().any(is_loss));
    let lost = scenario.events().into_iter().find(is_loss).unwrap();
    assert!(["revoked", "superseded", "regressed"].iter().any(|reason| lost["reason"] == *reason), "{lost}");
    let last_seen_ns = scenario.journal().last_seen_ns(first.pid);
    within_ns("work under a lease that was forgotten", forgotten_ns, last_seen_ns, until_told(scenario));
    let second = scenario.next_start();
    assert!(second.term > first.term, "{second:?} after {first:?}");
    within("two workers at once", scenario.journal().longest_overlap(), until_told(scenario));
    // From here on all is well.
    assert!(!ProcessHandle::open(second.pid).ends_within(Duration::from_millis(500)));
    second
}

pub(crate) fn case_62_a_restart_with_persistence_costs_nothing() {
    let server = Rc::new(RedisServer::start_with(RedisOptions::default().persistent()));
    let scenario = scenario_at(Rc::clone(&server)).with_timing(PATIENT_ENOUGH);
    let _leader = scenario.candidate("a");
    let first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    for _ in 0..3 {
        server.kill();
        server.restart();
        goes_on(&scenario, &first);
    }
    scenario.judge();
}

/// A lease that outlasts the restart, and that nobody renews, runs out when it would have: the server counts no pause.
pub(crate) fn case_62_a_lease_goes_on_running_out_while_the_server_is_away() {
    let server = Rc::new(RedisServer::start_with(RedisOptions::default().persistent()));
    let scenario = scenario_at(Rc::clone(&server));
    let leader = scenario.candidate("a");
    let first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    server.kill();
    let killed_ns = boot_ns();
    assert_eq!(leader.event("lost")["reason"], "expired");
    // Waits because the server is to be away for longer than the lease lasts.
    assert!(!next.running.process.ends_within(TestTiming::SHORT.more_than_a_lease()));
    let last_seen_ns = scenario.journal().last_seen_ns(first.pid);
    within_ns("work without a server", killed_ns, last_seen_ns, scenario.timing().validated().hold());
    let restarted_ns = boot_ns();
    server.restart();
    let second = scenario.next_start();
    assert!(second.term > first.term);
    within_ns("leadership after a restart", restarted_ns, second.boot_ns, scenario.timing().max_failover(2));
    scenario.judge();
}

/// Every message of the store comes twice, to the leader and to the one who stands by.
pub(crate) fn case_36_answers_that_come_twice_confirm_nothing_twice() {
    let scenario = scenario(&Redis);
    let [detour, next_detour] = [(); 2].map(|()| {
        let detour = scenario.store.endpoint().detour();
        detour.proxy.inject(Direction::Replies, ProxyFault::Duplicate);
        detour
    });
    let mut leader = scenario.candidate_by(&detour, "a");
    let first = scenario.next_start();
    let next = scenario.candidate_by(&next_detour, "b");
    next.stands_by();
    let worker = ProcessHandle::open(first.pid);
    assert!(!worker.ends_within(scenario.timing().more_than_a_lease() * 2), "{:#?}", scenario.events());
    assert_eq!((&scenario.status()["leader"], &scenario.status()["term"]), (&"a".into(), &first.term.into()));
    let asked_ns = boot_ns();
    leader.signal(Signal::TERM);
    let second = scenario.next_start();
    assert_eq!((second.candidate.as_str(), leader.code()), ("b", 143));
    within_ns("hand-over", asked_ns, second.boot_ns, scenario.timing().max_failover(2));
    // Taken away behind its back: an answer from before must not hide it.
    assert_eq!(scenario.finish(["resign", ELECTION]).code, Some(0));
    next.event("lost");
    assert!(scenario.next_start().term > second.term);
    scenario.judge();
}

/// Answers of Redis carry no name of their question, and a client takes the next one that comes. So an answer that came
/// twice could confirm a renewal that was refused. Here the leader hears the last good answer again and again.
pub(crate) fn case_36_an_answer_from_before_does_not_confirm_a_lease_that_is_gone() {
    let server = Rc::new(RedisServer::start());
    let scenario = scenario_at(Rc::clone(&server));
    let detour = scenario.store.endpoint().detour();
    let leader = scenario.candidate_by(&detour, "a");
    let first = scenario.next_start();
    let now_ns = boot_ns();
    eventually("a renewal", || renewals_since(&scenario, now_ns) > 0);
    let repeated_ns = boot_ns();
    detour.proxy.inject(Direction::Replies, ProxyFault::Repeat);
    detour.proxy.await_counts("an answer that is repeated", |counts| counts.replies.struck > 0);
    drop(server.command(&["FLUSHALL"]));
    let worker = ProcessHandle::open(first.pid);
    assert!(
        worker.ends_within(scenario.timing().more_than_a_lease()),
        "it leads on without a lease: {:#?}",
        scenario.events()
    );
    let last_seen_ns = scenario.journal().last_seen_ns(first.pid);
    within_ns("work on repeated answers", repeated_ns, last_seen_ns, scenario.timing().validated().hold());
    assert_eq!(leader.event("lost")["term"], first.term);
    detour.proxy.heal();
    assert!(scenario.next_start().term > first.term, "it does not recover");
    scenario.judge();
}

/// The server cuts the connections over which it wakes those who stand by. A lease that nobody is told of would last
/// longer than any test.
pub(crate) fn case_68_after_subscriptions_were_cut_the_next_leader_is_woken_all_the_same() {
    let server = Rc::new(RedisServer::start());
    let scenario = scenario_at(Rc::clone(&server)).with_timing(TestTiming::PATIENT);
    let mut leader = scenario.candidate("a");
    let _first = scenario.next_start();
    let next = scenario.candidate("b");
    next.stands_by();
    eventually("subscriptions", || server.calls("subscribe") >= 2);
    drop(server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]));
    eventually("subscriptions that are made again", || server.calls("subscribe") >= 4);
    let asked_ns = boot_ns();
    leader.signal(Signal::TERM);
    let second = scenario.next_start();
    assert_eq!((second.candidate.as_str(), leader.code()), ("b", 143));
    within_ns("hand-over after subscriptions were cut", asked_ns, second.boot_ns, TestTiming::SHORT.max_failover(2));
    scenario.judge();
}
