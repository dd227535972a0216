//! Connections to a PostgreSQL server that are ended, shared, not to be had, or do not bring what was sent.

use std::rc::Rc;
use std::time::Duration;

use rustix::process::Signal;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::eventually;
use tenure_testkit::postgres::{APP, PgBouncer, PoolMode, PostgresOptions, PostgresServer, SqlError, SqlSession};
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::proxy::{Direction, ProxyFault};
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::StoreServer;
use tenure_testkit::test_timing::TestTiming;

use crate::postgres::STORE;
use crate::two_candidates::{TwoCandidates, refused};
use crate::{goes_on, renewals_since, scenario_at};

/// Answers of PostgreSQL carry no name of their question, and a client takes the next one that comes. Here the leader hears
/// the last good answer again and again, and its lease is gone.
pub(crate) fn case_36_an_answer_from_before_does_not_confirm_a_lease_that_is_gone() {
    let server = Rc::new(STORE.serve(PostgresOptions::default()));
    let scenario = scenario_at(Rc::clone(&server));
    let detour = scenario.store.endpoint().detour();
    let leader = scenario.candidate_by(&detour, "a");
    let first = scenario.next_start();
    let now_ns = boot_ns();
    eventually("two renewals", || renewals_since(&scenario, now_ns) > 1);
    let repeated_ns = boot_ns();
    detour.proxy.inject(Direction::Replies, ProxyFault::Repeat);
    detour.proxy.await_counts("an answer that is repeated", |counts| counts.replies.struck > 0);
    server.sql("UPDATE tenure.election SET nonce = gen_random_uuid()");
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

/// Every answer comes twice for a while, which ends connections: the second one is nobody's, or is not to the question.
pub(crate) fn case_36_answers_that_come_twice_end_a_connection_and_no_leadership() {
    let candidates = TwoCandidates::on(STORE.serve(PostgresOptions::default()));
    let scenario = &candidates.scenario;
    let detour = scenario.store.endpoint().detour();
    let mut leader = candidates.leader;
    leader.signal(Signal::TERM);
    assert_eq!((leader.code(), scenario.next_start().candidate.as_str()), (143, "b"));
    let third = scenario.candidate_by(&detour, "c");
    third.stands_by();
    let mut second = candidates.next;
    second.signal(Signal::TERM);
    let start = scenario.next_start();
    assert_eq!((start.candidate.as_str(), second.code()), ("c", 143));
    let now_ns = boot_ns();
    eventually("a renewal", || renewals_since(scenario, now_ns) > 0);
    detour.proxy.inject(Direction::Replies, ProxyFault::Duplicate);
    detour.proxy.await_counts("answers that come twice", |counts| counts.replies.struck > 1);
    detour.proxy.heal();
    let healed_ns = boot_ns();
    eventually("renewals", || renewals_since(scenario, healed_ns) > 1);
    assert!(!ProcessHandle::open(start.pid).is_dead());
    assert_eq!(scenario.status()["term"], start.term);
    scenario.judge();
}

/// Whoever stands by is told nothing, looks by itself, and says so once.
pub(crate) fn case_47_behind_a_pooler_of_transactions_elections_work_and_a_warning_is_given_once() {
    let server = STORE.serve(PostgresOptions::default());
    let TwoCandidates { scenario, mut leader, next, .. } =
        TwoCandidates::with_timing(PgBouncer::start(&server, PoolMode::Transaction, 2), TestTiming::PATIENT);
    let warning = "notifications do not arrive";
    let warnings = |lines: &[String]| lines.iter().filter(|line| line.contains(warning)).count();
    eventually("the warning", || warnings(&next.running.stderr().record().lines()) > 0);
    let asked_ns = boot_ns();
    leader.signal(Signal::TERM);
    let second = scenario.next_start();
    assert_eq!((second.candidate.as_str(), leader.code()), ("b", 143));
    // Far less than a lease.
    within_ns("hand-over by looking", asked_ns, second.boot_ns, Duration::from_secs(15));
    // Waits because whoever warned again and again would do so now.
    assert!(!next.running.process.ends_within(Duration::from_secs(3)));
    for candidate in [&leader, &next] {
        let lines = candidate.running.stderr().record().lines();
        assert!(warnings(&lines) <= 1, "{lines:#?}");
    }
    scenario.judge();
}

/// Thirty times one of all connections of the leader and of the other one is ended.
pub(crate) fn case_50_sessions_that_are_ended_again_and_again_cost_nothing() {
    let candidates = TwoCandidates::on(STORE.serve(PostgresOptions::default()));
    let mut seed = boot_ns();
    println!("seed {seed}");
    for _ in 0..30 {
        eventually("a session", || !sessions(&candidates.server).is_empty());
        let open = sessions(&candidates.server);
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let victim = &open[usize::try_from(seed >> 33).unwrap() % open.len()];
        candidates.server.sql(&format!("SELECT pg_terminate_backend({victim})"));
        // Waits because they are to be ended at any time, and not only when they have just begun.
        assert!(!candidates.next.running.process.ends_within(Duration::from_millis(150)));
    }
    eventually("all sessions", || sessions(&candidates.server).len() == 4);
    candidates.ends_as_it_began();
}

/// The processes that serve candidates.
fn sessions(server: &PostgresServer) -> Vec<String> {
    let sql = format!("SELECT pid FROM pg_stat_activity WHERE usename = '{APP}' ORDER BY pid");
    server.sql(&sql).into_iter().flatten().flatten().collect()
}

/// Nobody can notify, as when the queue of notifications is full: what is told fails, and what is done does not. Whoever
/// comes later sees it at once; whoever was there before looks no later than after a crash.
pub(crate) fn case_56_notifications_that_cannot_be_sent_cost_time_and_nothing_else() {
    let mut candidates = TwoCandidates::on(STORE.serve(PostgresOptions::default()));
    eventually("all sessions", || sessions(&candidates.server).len() == 4);
    candidates.server.sql("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
    goes_on(&candidates.scenario, &candidates.first);
    let resigned_ns = boot_ns();
    candidates.leader.signal(Signal::TERM);
    assert_eq!(candidates.leader.code(), 143);
    let second = candidates.scenario.next_start();
    assert_eq!(second.candidate, "b");
    within_ns("hand-over untold", resigned_ns, second.boot_ns, candidates.scenario.timing().max_failover(2));
    let third = candidates.scenario.candidate("c");
    third.stands_by();
    let asked_ns = boot_ns();
    assert_eq!(candidates.scenario.finish(["resign", ELECTION]).code, Some(0));
    let start = candidates.scenario.next_start();
    assert!(start.term > second.term, "{start:?} after {second:?}");
    within_ns("hand-over on request", asked_ns, start.boot_ns, candidates.scenario.timing().max_failover(3));
    candidates.scenario.judge();
}

/// A lease that nobody is told of would last longer than any test.
pub(crate) fn case_57_long_and_odd_names_get_through_channels_and_payloads() {
    let scenario = scenario_at(STORE.serve(PostgresOptions::default())).with_timing(TestTiming::PATIENT);
    let odd = "\"q\" 'a' \\ ;-- $1 {schema} %s {0} é 漢 🦀 \u{202e}|";
    let names = [odd.to_owned() + &"x".repeat(200 - odd.len()), "🦀".repeat(50), "a".repeat(200)];
    for name in &names {
        assert_eq!(name.len(), 200);
        let leader = scenario.elect_with("a", name, &["--namespace", name]);
        let first = leader.event("elected");
        let next = scenario.elect_with("b", name, &["--namespace", name]);
        next.stands_by();
        let asked_ns = boot_ns();
        leader.signal(Signal::TERM);
        let second = next.event("elected");
        assert!(second["term"].as_u64() > first["term"].as_u64(), "{second} after {first}");
        let elected_ns = second["boot_ns"].as_u64().unwrap();
        within_ns("hand-over", asked_ns, elected_ns, TestTiming::SHORT.max_failover(2));
    }
    scenario.judge();
}

/// Others take all connections there are. Those who have theirs go on, and whoever has none comes in when there is room.
pub(crate) fn case_61_a_server_without_free_connections_keeps_the_leader_and_lets_others_in_later() {
    let candidates = TwoCandidates::on(STORE.serve(PostgresOptions::default().max_connections(16)));
    let url = StoreServer::url(&*candidates.server);
    eventually("all sessions", || sessions(&candidates.server).len() == 4);
    let mut others = Vec::new();
    let refusal = loop {
        match SqlSession::open(&url) {
            Ok(session) => others.push(session),
            Err(error) => break error,
        }
    };
    assert_eq!(SqlError::code(&refusal), Some("53300"));
    let full_ns = boot_ns();
    eventually("two more renewals", || renewals_since(&candidates.scenario, full_ns) >= 2);
    // With each failure, and not only now and then how many there were.
    let late = candidates.scenario.elect_with("c", ELECTION, &["--renewals"]);
    refused(&late, "53300");
    // Waits because those who try again in a hot loop would do so now.
    assert!(!late.running.process.ends_within(Duration::from_secs(2)));
    let is_error = |event: &&serde_json::Value| event["event"] == "error" && event["candidate"] == "c";
    let attempts = candidates.scenario.events().iter().filter(is_error).count();
    println!("{attempts} attempts without a connection to be had");
    assert!(attempts <= 60, "{attempts} attempts");
    drop(others);
    late.stands_by();
    candidates.ends_as_it_began();
}
