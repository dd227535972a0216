//! Signals to `tenure run` and `tenure elect`.

use rustix::process::Signal;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::scenario::sh;

use crate::support::scenario;

#[test]
fn a_stand_by_asked_to_end_ends_without_disturbing_the_leader() {
    // Without a command to pass it on to, a closed terminal means the end.
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let scenario = scenario();
        let _leader = scenario.candidate("a");
        let worker = ProcessHandle::open(scenario.next_start().pid);
        let mut stand_by = scenario.candidate("b");
        stand_by.stands_by();
        stand_by.signal(signal);
        assert_eq!(stand_by.code(), code);
        assert!(!worker.is_dead());
        assert_eq!(scenario.json(&["status", "nightly", "--json"])[0]["leader"], "a");
    }
}

#[test]
fn other_signals_reach_the_command() {
    let scenario = scenario();
    let script = "for s in HUP QUIT USR1 USR2 WINCH; do trap \"echo got $s\" $s; done; echo ready $$; \
                  while :; do sleep 1; done";
    let leader = scenario.candidate_running("a", &[], &sh(script));
    scenario.words.find("the command to be ready", |line| line.starts_with("ready").then_some(()));
    let signals = [
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::WINCH, "WINCH"),
    ];
    for (signal, name) in signals {
        leader.signal(signal);
        assert_eq!(scenario.words.next(name), format!("got {name}"));
    }
}

/// As `nohup` starts it.
#[test]
fn a_closed_terminal_that_is_ignored_at_the_start_stays_ignored() {
    let scenario = scenario();
    let script = "trap 'echo got USR1' USR1; echo ready $$; while :; do sleep 1; done";
    let mut leader = scenario.start(&mut scenario.candidate_without_hang_up("a", &sh(script)));
    scenario.words.find("the command to be ready", |line| line.starts_with("ready").then_some(()));
    leader.signal(Signal::HUP);
    leader.signal(Signal::USR1);
    assert_eq!(scenario.words.next("USR1"), "got USR1");
    leader.signal(Signal::TERM);
    assert_eq!(leader.code(), 143);
}
