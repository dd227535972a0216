//! Time that passes while nothing runs.

use std::env;
use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tenure::blocking::Client;
use tenure::testing::VirtualClock;
use tenure::{Clock, EventKind, LossReason};
use tenure_testkit::PATIENCE;
use tenure_testkit::bound::{boot_ns, within_ns};
use tenure_testkit::eventually;
use tenure_testkit::role;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::stores::Backend;
use tenure_testkit::test_timing::TestTiming;

use crate::support::{EventLog, TimedStore, elected};

const STORE: &str = "WITNESS_STORE";
const ANSWERS: &str = "WITNESS_ANSWERS";

/// A process that leads and asks without a break whether it does. It writes down each answer that differs from the one
/// before, and each that comes after a pause.
pub(crate) fn witness() {
    let client = Client::open(&env::var(STORE).unwrap()).unwrap();
    let candidacy = client.election(ELECTION).unwrap().candidate().timing(TestTiming::SHORT.validated());
    let candidacy = candidacy.on_lost(|_, reason| println!("\nlost {}", reason.as_str())).start().unwrap();
    elected(&candidacy);
    println!("\nleads");
    let mut answers = File::create(env::var_os(ANSWERS).unwrap()).unwrap();
    let end_ns = boot_ns() + u64::try_from(PATIENCE.as_nanos()).unwrap() * 2;
    let mut last = (0, false);
    while last.0 < end_ns {
        let (asked_ns, answer) = (boot_ns(), candidacy.is_leader());
        if answer != last.1 || asked_ns - last.0 > PAUSE_NS {
            answers.write_all(format!("{asked_ns} {answer}\n").as_bytes()).unwrap();
        }
        last = (asked_ns, answer);
    }
}

/// Whoever was away for so long may find the world changed.
const PAUSE_NS: u64 = 100_000_000;

pub(crate) fn case_01_the_first_answer_after_a_pause_is_no(store: &dyn Backend) {
    let timed_store = TimedStore::new(store, TestTiming::SHORT);
    let words = role::command("witness");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(STORE, timed_store.store.url()).env(ANSWERS, timed_store.store.path("answers"));
    let witness = RunningProcess::start(&mut command);
    let says = |word: &str| witness.stdout().find(word, |line| (line == word).then_some(()));
    says("leads");
    let next = timed_store.candidate("b").start().unwrap();
    let told = EventLog::by(&next);
    told.find("who leads", |kind| matches!(kind, EventKind::Observed { leader: Some(_) }).then_some(()));
    let stopped_ns = boot_ns();
    witness.signal(Signal::STOP);
    let elected = told.election();
    within_ns("takeover from a stopped leader", stopped_ns, elected.at.as_nanos(), TestTiming::SHORT.max_failover(2));
    let three_leases = timed_store.timing.ttl() * 3;
    assert!(!witness.process.ends_within(three_leases.saturating_sub(Duration::from_nanos(boot_ns() - stopped_ns))));
    let resumed_ns = boot_ns();
    witness.signal(Signal::CONT);
    says("lost expired");

    let answers = || {
        let lines = std::fs::read_to_string(timed_store.store.path("answers")).unwrap();
        let answer =
            |line: &str| line.split_once(' ').map(|(asked_ns, answer)| (asked_ns.parse().unwrap(), answer == "true"));
        lines.lines().filter_map(answer).partition::<Vec<(u64, bool)>, _>(|(asked_ns, _)| *asked_ns < resumed_ns)
    };
    eventually("an answer after the pause", || !answers().1.is_empty());
    let (before, after) = answers();
    assert!(before.iter().any(|(_, answer)| *answer), "it never led");
    assert!(after.iter().all(|(_, answer)| !answer), "it woke up leading: {after:?}");
    assert!(next.is_leader());
}

/// In a suspend the clock of leases goes on, and that of ordinary timers does not.
pub(crate) fn case_05_a_suspend_that_outlasts_the_lease_ends_leadership_before_anything_runs(store: &dyn Backend) {
    let timed_store = TimedStore::new(store, TestTiming::PATIENT);
    let hands = VirtualClock::new();
    let candidacy = timed_store.stand(&tenure_on(&timed_store, &hands), "a").start().unwrap();
    let told = EventLog::by(&candidacy);
    let leadership = elected(&candidacy);
    assert!(candidacy.is_leader() && leadership.is_valid());
    hands.advance(timed_store.timing.ttl());
    assert!(!candidacy.is_leader() && !leadership.is_valid() && leadership.is_cancelled());
    assert!(leadership.begin_work().is_none() && candidacy.run_if_leader(|_| ()).is_none());
    assert_eq!(told.loss().1, LossReason::Expired);
}

pub(crate) fn case_05_a_suspend_that_the_lease_outlasts_ends_nothing(store: &dyn Backend) {
    let timed_store = TimedStore::new(store, TestTiming::PATIENT);
    let hands = VirtualClock::new();
    let candidacy = timed_store.stand(&tenure_on(&timed_store, &hands), "a").start().unwrap();
    let told = EventLog::by(&candidacy);
    let leadership = elected(&candidacy);
    let until = leadership.trusted_until();
    hands.advance(timed_store.timing.hold() / 2);
    assert!(candidacy.is_leader());
    told.find("a renewal", |kind| matches!(kind, EventKind::Renewed { .. }).then_some(()));
    assert!(leadership.trusted_until() >= until + timed_store.timing.hold() / 2, "counted from before the suspend");
    assert!(candidacy.is_leader() && !leadership.is_cancelled());
}

/// A driver whose clock jumps when the test says so, on a store that keeps its own time.
fn tenure_on(timed_store: &TimedStore, hands: &std::sync::Arc<VirtualClock>) -> Client {
    let store = tenure::store::open(&timed_store.store.url().parse().unwrap()).unwrap();
    Client::builder().clock(Clock::controlled_by(hands)).with_store(store).unwrap()
}
