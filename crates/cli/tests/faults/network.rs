//! A bad network between one candidate and the store. The others reach it.

use std::time::Duration;

use rustix::process::Signal;
use tenure::Client;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::eventually;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::proxy::{Direction, Proxy, ProxyFault};
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::{Backend, Detour};
use tenure_testkit::test_timing::TestTiming;
use tenure_testkit::worker::WorkerStart;

use crate::scenario;

/// How long a link is bad that is bad for long.
const LONG: Duration = Duration::from_secs(20);

pub(crate) fn case_31_a_leader_in_a_black_hole_stops_in_time_and_comes_back_as_a_follower(store: &dyn Backend) {
    let scenario = scenario(store);
    let cut = |detour: &Detour| {
        detour.proxy.black_hole();
        detour.proxy.await_counts("a request that is lost", |counts| counts.requests.swallowed > 0);
    };
    is_replaced_and_comes_back(&scenario, &scenario.store.endpoint().detour(), LONG, cut, |detour| detour.proxy.heal());
}

pub(crate) fn case_31_a_leader_whose_connections_are_refused_stops_in_time_and_comes_back_as_a_follower(
    store: &dyn Backend,
) {
    let scenario = scenario(store);
    let cut = |detour: &Detour| refuse(&detour.proxy);
    is_replaced_and_comes_back(&scenario, &scenario.store.endpoint().detour(), LONG, cut, |detour| detour.proxy.heal());
}

/// No proxy swallows anything here: the kernels at both ends of the connection hear nothing of each other.
pub(crate) fn case_32_a_leader_whose_cable_is_pulled_stops_in_time_and_comes_back_as_a_follower(store: &dyn Backend) {
    let scenario = scenario(store);
    let pull = |detour: &Detour| detour.elsewhere().cut().unwrap();
    let put_back = |detour: &Detour| detour.elsewhere().restore().unwrap();
    is_replaced_and_comes_back(&scenario, &scenario.store.endpoint().detour_from_elsewhere(), LONG, pull, put_back);
}

/// Cuts off the leader alone, for longer than its lease lasts.
fn is_replaced_and_comes_back(
    scenario: &Scenario,
    detour: &Detour,
    outage: Duration,
    cut: impl Fn(&Detour),
    mend: impl Fn(&Detour),
) {
    let (cut_off, first) = leader_by(scenario, detour);
    let mut next = follower(scenario, "b");
    let cut_ns = boot_ns();
    cut(detour);
    let second = replaced(scenario, &cut_off, &first, cut_ns);
    let worker = ProcessHandle::open(second.pid);
    // The outage goes on, and changes nothing.
    assert!(!worker.ends_within(outage.saturating_sub(Duration::from_nanos(boot_ns() - cut_ns))));
    mend(detour);
    assert_eq!(cut_off.event("observed")["leader"], "b", "it does not stand by again");
    next.signal(Signal::TERM);
    assert_eq!(next.code(), 143);
    assert_eq!(scenario.next_start().candidate, "a");
    scenario.judge();
}

pub(crate) fn case_31_an_outage_of_less_than_half_a_lease_costs_nothing(store: &dyn Backend) {
    for cut in [Proxy::black_hole, refuse] {
        let scenario = scenario(store).with_timing(TestTiming::from_millis(9_000, 500, 300));
        let detour = scenario.store.endpoint().detour();
        let (_leader, first) = leader_by(&scenario, &detour);
        let _next = follower(&scenario, "b");
        let renewals =
            |scenario: &Scenario| scenario.events().iter().filter(|event| event["event"] == "renewed").count();
        let known = renewals(&scenario);
        // What is survived is counted from the last renewal.
        eventually("a renewal", || renewals(&scenario) > known);
        let cut_ns = boot_ns();
        cut(&detour.proxy);
        let worker = ProcessHandle::open(first.pid);
        let outage = Duration::from_millis(3_600);
        let ended = worker.ends_within(outage.saturating_sub(Duration::from_nanos(boot_ns() - cut_ns)));
        assert!(!ended || store.abilities().by_session);
        detour.proxy.heal();
        if store.abilities().by_session {
            // Its connection did not outlive it, and so neither did its lease.
            assert!(scenario.next_start().term > first.term);
            scenario.judge();
            continue;
        }
        // Longer than the rest of a lease that was not renewed.
        assert!(!worker.ends_within(scenario.timing().more_than_a_lease()), "{:#?}", scenario.events());
        assert_eq!((&scenario.status()["leader"], &scenario.status()["term"]), (&"a".into(), &first.term.into()));
        assert_eq!(scenario.journal().starts(), 1);
        scenario.judge();
    }
}

/// The campaign is executed when the one who sent it has given up, and is answered when the lease has run out.
pub(crate) fn case_34_a_grant_that_is_heard_of_too_late_is_not_used(store: &dyn Backend) {
    let scenario = scenario(store);
    let detour = scenario.store.endpoint().detour();
    let mut leader = scenario.candidate("a");
    let first = scenario.next_start();
    let late = scenario.candidate_by(&detour, "late");
    late.stands_by();
    detour.proxy.inject(Direction::Requests, ProxyFault::Hold);
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
    detour.proxy.await_waiting(Direction::Requests, 1);
    detour.proxy.inject(Direction::Replies, ProxyFault::Hold);
    detour.proxy.clear(Direction::Requests);
    eventually("a grant that nobody hears of", || scenario.status()["leader"] == "late");
    let ghost = scenario.status()["term"].as_u64().unwrap();
    let granted_ns = boot_ns();
    let _next = scenario.candidate("b");
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b", "somebody worked under a grant that was not answered");
    assert!(first.term < ghost && ghost < second.term, "{ghost} between {first:?} and {second:?}");
    within_ns("leadership behind a grant unheard", granted_ns, second.boot_ns, scenario.timing().max_failover(2));
    detour.proxy.heal();
    while late.event("observed")["leader"] != "b" {}
    assert!(!ProcessHandle::open(second.pid).ends_within(scenario.timing().more_than_a_lease()));
    assert_eq!(scenario.journal().starts(), 2);
    scenario.judge();
}

/// Renewals are done, and confirmed when the next ones are under way.
pub(crate) fn case_35_renewals_that_are_answered_too_late_extend_nothing(store: &dyn Backend) {
    let scenario = scenario(store);
    let detour = scenario.store.endpoint().detour();
    let (late, first) = leader_by(&scenario, &detour);
    let _next = follower(&scenario, "b");
    let delayed_ns = boot_ns();
    detour.proxy.inject(Direction::Replies, ProxyFault::Delay(Duration::from_secs(1)));
    detour.proxy.await_counts("an answer that is late", |counts| counts.replies.struck > 0);
    assert_eq!(late.event("lost")["reason"], "expired");
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    let last_seen_ns = scenario.journal().last_seen_ns(first.pid);
    within_ns("work on late answers", delayed_ns, last_seen_ns, scenario.timing().validated().hold());
    detour.proxy.heal();
    scenario.judge();
}

/// The store grants, and its answer is lost with the connection. The next attempt finds the grant again.
pub(crate) fn case_37_a_grant_whose_answer_was_lost_costs_an_attempt_and_not_a_lease(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(TestTiming::PATIENT);
    assert_eq!(scenario.finish(["run", ELECTION, "--", "true"]).code, Some(0), "the store knows its scripts");
    let detour = scenario.store.endpoint().detour();
    detour.proxy.inject(Direction::Replies, ProxyFault::Delay(Duration::from_millis(600)));
    // Looked at from here: a command that looks may take longer than the answer.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let election = Client::open(&scenario.store()).unwrap().election(ELECTION).unwrap();
    let candidate = scenario.candidate_by(&detour, "a");
    eventually("a grant", || {
        let seen = runtime.block_on(election.observe()).unwrap();
        seen.lease.is_some_and(|lease| lease.leader.candidate.as_str() == "a")
    });
    detour.proxy.black_hole();
    detour.proxy.reset();
    assert_eq!(scenario.journal().starts(), 0, "the answer was not to arrive");
    let healed_ns = boot_ns();
    detour.proxy.heal();
    let first = scenario.next_start();
    // On a busy machine the answer may have come after all. Where the session is the lease, that leadership ended with it.
    while candidate.event("elected")["term"].as_u64().unwrap() != first.term {}
    within_ns("leadership after a lost answer", healed_ns, first.boot_ns, TestTiming::SHORT.max_failover(2));
    if !store.abilities().by_session {
        let history = scenario.json(&["history", ELECTION, "--json"]);
        let grants = history.as_array().unwrap().iter().filter(|change| change["event"] == "elected");
        assert_eq!(grants.count(), 2, "the same grant, and no other: {history}");
    }
    scenario.judge();
}

/// The store takes 10 s for each answer to one candidate. It steps down, does not pile up requests, and recovers.
pub(crate) fn case_38_a_leader_whose_store_takes_ten_seconds_to_answer_steps_down_and_recovers(store: &dyn Backend) {
    let scenario = scenario(store);
    let detour = scenario.store.endpoint().detour();
    let slow = |detour: &Detour| detour.proxy.inject(Direction::Replies, ProxyFault::Delay(Duration::from_secs(10)));
    let outage = Duration::from_secs(12);
    is_replaced_and_comes_back(&scenario, &detour, outage, slow, |detour| {
        let counts = detour.proxy.counts();
        println!("{counts:?} after {outage:?} of a slow store");
        assert!(counts.accepted < 100, "it piles up connections: {counts:?}");
        detour.proxy.heal();
    });
}

/// What the leader asks for is done, and it never hears of it. Its renewals must not keep others out for ever.
pub(crate) fn case_39_a_leader_that_hears_nothing_does_not_keep_the_others_out(store: &dyn Backend) {
    let scenario = scenario(store);
    let detour = scenario.store.endpoint().detour();
    let deafen = |detour: &Detour| {
        detour.proxy.inject(Direction::Replies, ProxyFault::Swallow);
        detour.proxy.await_counts("an answer that is lost", |counts| counts.replies.swallowed > 0);
    };
    let outage = scenario.timing().validated().ttl() * 2;
    is_replaced_and_comes_back(&scenario, &detour, outage, deafen, |detour| detour.proxy.heal());
}

/// Up and down five times a second: everything arrives, some of it late.
pub(crate) fn case_40_a_flapping_link_changes_leaders_at_most_once_a_lease(store: &dyn Backend) {
    let scenario = scenario(store);
    let detour = scenario.store.endpoint().detour();
    let (_leader, _) = leader_by(&scenario, &detour);
    let next = follower(&scenario, "b");
    let pause = Duration::from_millis(200);
    detour.proxy.flap(pause, pause);
    let leases = 4;
    assert!(!next.running.process.ends_within(scenario.timing().validated().ttl() * leases));
    let outages = detour.proxy.counts().outages;
    assert!(outages > 10, "the link was down only {outages} times");
    detour.proxy.heal();
    eventually("a leader", || scenario.status()["leader"].is_string());
    let starts = scenario.journal().starts();
    println!("{} changes of leaders in {leases} leases of a flapping link", starts - 1);
    assert!(starts - 1 <= leases as usize, "{:#?}", scenario.events());
    scenario.judge();
}

/// A leader that takes a way of its own to the store.
fn leader_by(scenario: &Scenario, detour: &Detour) -> (CandidateProcess, WorkerStart) {
    let leader = scenario.candidate_by(detour, "a");
    let start = scenario.next_start();
    assert_eq!(start.candidate, "a");
    (leader, start)
}

fn follower(scenario: &Scenario, id: &str) -> CandidateProcess {
    let follower = scenario.candidate(id);
    follower.stands_by();
    follower
}

/// Waits for the next worker, and checks that the one before stopped by itself, in time.
fn replaced(scenario: &Scenario, cut_off: &CandidateProcess, first: &WorkerStart, cut_ns: u64) -> WorkerStart {
    let second = scenario.next_start();
    assert_eq!(second.candidate, "b");
    let lost = cut_off.event("lost");
    // Where a lease ends with its connection, one that is reset says so at once.
    let by_session = scenario.store().starts_with("postgres+advisory:");
    let is_told = lost["reason"] == "expired" || (lost["reason"] == "revoked" && by_session);
    assert!(is_told && lost["term"] == first.term, "{lost}");
    let last_seen_ns = scenario.journal().last_seen_ns(first.pid);
    within_ns("work after the cut", cut_ns, last_seen_ns, scenario.timing().validated().hold());
    within_ns("takeover after the cut", cut_ns, second.boot_ns, scenario.timing().max_failover(2));
    second
}

/// What is open is reset, and nothing new is let in.
fn refuse(proxy: &Proxy) {
    proxy.refuse();
    proxy.reset();
    proxy.await_counts("connections to be reset", |counts| counts.open == 0);
}
