//! A store that is away for a while: told at once, then now and then with a count, and once when it is back.

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::lines::Lines;
use tenure_testkit::redis::RedisServer;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::scenario;

/// So many attempts fail before a test is content: each of them used to be a line.
const ATTEMPTS: u64 = 10;
/// More than it takes to tell of them, whatever the machine is busy with.
const TELLINGS: usize = 30;

fn start(scenario: &Scenario, server: &RedisServer, args: &[&str], command: &[&str]) -> RunningProcess {
    let mut tenure = scenario.bare(["--store", &server.url()]);
    if matches!(args[0], "run" | "cron" | "elect" | "lock") {
        tenure.args(args).args(scenario.timing().options()).args(command);
    } else {
        tenure.args(args);
    }
    RunningProcess::start(&mut tenure)
}

/// How many attempts have failed, if this sentence is a summary.
fn attempts(line: &str) -> Option<u64> {
    line.split_once("still failing after ")?.1.split(' ').next()?.parse().ok()
}

/// Waits until so much has failed, and checks that it was not told each time.
fn fails(lines: &Lines) {
    let first = lines.find("the first failure", |line| line.contains("cannot connect").then(|| line.to_owned()));
    assert_eq!(attempts(&first), None, "the first is told as it is: {first}");
    lines.find("a summary", |line| attempts(line).filter(|count| *count >= ATTEMPTS));
    assert_told_once(lines.record().lines().into_iter().filter(|line| attempts(line).is_none()).collect());
}

/// But for summaries, nothing is told twice.
#[track_caller]
fn assert_told_once(mut told: Vec<String>) {
    told.sort();
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:#?}");
}

#[test]
fn run_tells_of_an_outage_and_that_it_is_over() {
    let (scenario, server) = (scenario(), RedisServer::start());
    server.kill();
    let mut run = start(&scenario, &server, &["run", ELECTION], &["--", "true"]);
    fails(run.stderr());
    server.restart();
    let over = run.stderr().find("the end of it", |line| line.contains("answers again").then(|| line.to_owned()));
    assert!(over.contains("nightly: the store answers again, after ") && over.contains(" failed attempt"), "{over}");
    assert_eq!(run.code(), 0);
}

#[test]
fn cron_and_lock_tell_no_more_of_it_even_if_they_are_to_be_quiet() {
    for (args, command) in [
        (&["cron", "@yearly", "--quiet"][..], &["--", "true"][..]),
        (&["lock", ELECTION, "--quiet"], &["--", "sleep", "600"]),
    ] {
        let (scenario, server) = (scenario(), RedisServer::start());
        server.kill();
        let mut running = start(&scenario, &server, args, command);
        fails(running.stderr());
        server.restart();
        running.stderr().find("the end of it", |line| line.contains("answers again").then_some(()));
        running.signal(Signal::TERM);
        assert_eq!(running.code(), 143);
    }
}

#[test]
fn elect_tells_the_first_error_then_counts_and_then_that_it_has_recovered() {
    let (scenario, server) = (scenario(), RedisServer::start());
    server.kill();
    let mut elect = start(&scenario, &server, &["elect", ELECTION], &[]);
    let event = |name: &str| {
        elect.stdout().find(name, |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (line["event"] == name).then_some(line)
        })
    };
    let first = event("error");
    for field in ["event", "election", "candidate", "term", "reason", "at"] {
        assert!(first.get(field).is_some(), "no {field} in {first}");
    }
    assert!(first.get("attempts").is_none() && first["reason"].as_str().unwrap().contains("cannot connect"), "{first}");
    assert!((0..TELLINGS).any(|_| event("error")["attempts"].as_u64() >= Some(ATTEMPTS)), "no end of it is counted");
    let told = elect.stdout().record().lines().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let plain = told.filter(|line| line.get("attempts").is_none());
    assert_told_once(plain.map(|line| line["reason"].to_string()).collect());
    server.restart();
    let recovered = event("recovered");
    assert!(recovered["attempts"].as_u64() >= Some(ATTEMPTS), "{recovered}");
    assert!(recovered["lasting_ms"].as_u64() > Some(0) && recovered["election"] == ELECTION, "{recovered}");
    event("elected");
    elect.signal(Signal::TERM);
    assert_eq!(elect.code(), 143);
}

#[test]
fn elect_tells_each_failure_to_whoever_asks_for_each_renewal() {
    let (scenario, server) = (scenario(), RedisServer::start());
    server.kill();
    let elect = start(&scenario, &server, &["elect", ELECTION, "--renewals"], &[]);
    for _ in 0..ATTEMPTS {
        let line: Value = serde_json::from_str(&elect.stdout().next("an error")).unwrap();
        assert!(line["event"] == "error" && line.get("attempts").is_none(), "{line}");
    }
}

#[test]
fn a_leader_that_keeps_its_lease_over_an_outage_tells_that_it_has_recovered() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let elect = RunningProcess::start(&mut scenario.bare([
        "--store",
        &server.url(),
        "elect",
        ELECTION,
        "--ttl",
        "60s",
        "--renew",
        "1s",
    ]));
    let event = |name: &str| {
        elect.stdout().find(name, |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (line["event"] == name).then_some(line)
        })
    };
    event("elected");
    let paused = server.pause();
    event("error");
    drop(paused);
    event("recovered");
}

#[test]
fn watch_tells_of_an_outage_in_its_stream() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let mut watch = start(&scenario, &server, &["watch", ELECTION, "--json"], &[]);
    let event = |name: &str| {
        watch.stdout().find(name, |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (line["event"] == name).then_some(line)
        })
    };
    event("observed");
    server.kill();
    let first = event("error");
    for field in ["event", "election", "candidate", "term", "reason", "at"] {
        assert!(first.get(field).is_some(), "no {field} in {first}");
    }
    assert_eq!(first["election"], ELECTION, "{first}");
    assert!((0..TELLINGS).any(|_| event("error")["attempts"].as_u64() >= Some(4)), "no end of it is counted");
    server.restart();
    let recovered = event("recovered");
    assert!(recovered["attempts"].as_u64() >= Some(4), "{recovered}");
    watch.signal(Signal::INT);
    assert_eq!(watch.code(), 130);
    assert_eq!(watch.stderr().rest("what else it says"), Vec::<String>::new(), "all of it is in the stream");
}

#[test]
fn a_table_that_is_watched_tells_of_an_outage() {
    for args in [&["status", "--watch"][..], &["watch"]] {
        let (scenario, server) = (scenario(), RedisServer::start());
        let led = start(&scenario, &server, &["run", ELECTION], &["--", "true"]).finish();
        assert_eq!(led.code, Some(0), "{led:?}");
        let mut watch = start(&scenario, &server, args, &[]);
        watch.stdout().find("the election", |line| line.contains(ELECTION).then_some(()));
        server.kill();
        watch.stderr().find("a summary", |line| attempts(line).filter(|count| *count >= 4));
        assert_told_once(watch.stderr().record().lines().into_iter().filter(|line| attempts(line).is_none()).collect());
        server.restart();
        watch.stderr().find("the end of it", |line| line.contains("the store answers again").then_some(()));
        watch.signal(Signal::TERM);
        assert_eq!(watch.code(), 143, "{args:?}");
    }
}

#[test]
fn nobody_waits_longer_for_a_store_that_hangs_than_was_said() {
    let (scenario, server) = (scenario(), RedisServer::start());
    let _paused = server.pause();
    let began = std::time::Instant::now();
    // One attempt at such a pace takes longer than the whole test may.
    let options = ["--ttl", "600s", "--wait", "500ms"];
    let mut lock = scenario.bare(["--store", &server.url(), "lock", ELECTION]);
    let finished = RunningProcess::start(lock.args(options).args(["--", "true"])).finish();
    assert_eq!(finished.code, Some(69), "{finished:?}");
    assert!(finished.stderr.contains("the store did not answer the request for the lock"), "{finished:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}: {finished:?}", began.elapsed());
    let mut resign = scenario.bare(["--store", &server.url(), "resign", ELECTION, "--wait", "500ms"]);
    let finished = RunningProcess::start(&mut resign).finish();
    assert_eq!(finished.code, Some(69), "{finished:?}");
    assert!(finished.stderr.contains("the store has not answered within 1.5s"), "{finished:?}");
}
