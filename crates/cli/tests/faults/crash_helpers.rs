//! A process that uses the library is killed, and its helper releases what it led.

use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tenure::Timing;
use tenure::blocking::Client;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::process::signal_all;
use tenure_testkit::role;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::{program, scenario};

/// A lease that outlasts every bound of this file by far.
const LONG_LEASE: TestTiming = TestTiming::from_millis(30_000, 5_000, 1_000);
/// What a helper takes to connect and resign, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(10);
const STORE: &str = "LIBRARY_STORE";
const TTL_MS: &str = "LIBRARY_TTL_MS";

pub(crate) fn case_03_the_helper_of_a_killed_process_releases_what_it_led(store: &dyn Backend) {
    let scenario = scenario(store).with_timing(LONG_LEASE);
    let leader = library_leader(&scenario);
    let helper = leader.process.only_child();
    let next = scenario.elect("b");
    next.stands_by();
    let killed_ns = boot_ns();
    leader.signal(Signal::KILL);
    let elected = next.event("elected");
    within_ns("takeover after kill -9 of a process", killed_ns, elected["boot_ns"].as_u64().unwrap(), SOON);
    helper.await_end("a helper that has nothing left to do");
    // Where deaths are seen, the store may be quicker than the helper.
    assert_end(&scenario, store, |reason| reason == "crashed" || (reason == "died" && store.abilities().sees_death));
}

pub(crate) fn case_03_a_process_that_takes_its_leave_is_not_taken_for_one_that_died(store: &dyn Backend) {
    let scenario = scenario(store);
    let mut leader = library_leader(&scenario);
    let helper = leader.process.only_child();
    drop(leader.child().stdin.take());
    assert_eq!(leader.code(), 0);
    helper.await_end("the helper of a process that has ended");
    assert_end(&scenario, store, |reason| reason == "stopped");
}

pub(crate) fn case_03_when_the_helper_is_killed_as_well_the_lease_runs_out(store: &dyn Backend) {
    let scenario = scenario(store);
    let leader = library_leader(&scenario);
    let helper = leader.process.only_child();
    let next = scenario.elect("b");
    next.stands_by();
    let killed_ns = boot_ns();
    signal_all([&leader.process, &helper], Signal::KILL);
    let elected = next.event("elected");
    let elected_ns = elected["boot_ns"].as_u64().unwrap();
    within_ns("takeover when nobody can release", killed_ns, elected_ns, scenario.timing().max_failover(2));
    assert_end(&scenario, store, |reason| reason == "expired" || reason == "died");
}

/// A process of its own that leads by the library. It ends when its standard input does.
fn library_leader(scenario: &Scenario) -> RunningProcess {
    let words = role::command("library-leader");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(STORE, scenario.store()).env("HOME", scenario.path("home"));
    command.env(TTL_MS, scenario.timing().validated().ttl().as_millis().to_string());
    command.stdin(Stdio::piped());
    let leader = RunningProcess::start(&mut command);
    leader.stdout().find("leadership", |line| line.contains("library-leads").then_some(()));
    leader
}

/// Plays it.
pub(crate) fn lead() {
    let ttl = Duration::from_millis(env::var(TTL_MS).unwrap().parse().unwrap());
    let store = env::var(STORE).unwrap();
    let client = Client::builder().crash_helper(program()).open(&store).unwrap();
    let candidacy = client.election(ELECTION).unwrap().candidate().timing(Timing::from_ttl(ttl).unwrap()).start();
    let candidacy = candidacy.unwrap();
    let _leadership = candidacy.elected().unwrap();
    println!("library-leads");
    std::io::read_to_string(std::io::stdin()).unwrap();
    candidacy.stop();
}

/// Checks why the first leadership ended, where that is written down.
fn assert_end(scenario: &Scenario, store: &dyn Backend, is_right: impl Fn(&str) -> bool) {
    let history = scenario.json(&["history", ELECTION, "--json"]);
    let ends = history.as_array().unwrap().iter().filter(|change| change["event"] != "elected");
    let reasons: Vec<&str> = ends.filter_map(|end| end["reason"].as_str()).collect();
    let expected = usize::from(!store.abilities().by_session);
    assert!(reasons.len() == expected && reasons.into_iter().all(is_right), "{history}");
}
