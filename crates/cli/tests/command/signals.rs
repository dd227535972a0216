//! Signals to `tenure run` and `tenure elect`.

use rustix::process::Signal;
use tenure_testkit::process::Process;
use tenure_testkit::site::sh;

use crate::support::site;

#[test]
fn a_stand_by_asked_to_end_ends_without_disturbing_the_leader() {
    // Without a command to pass it on to, a closed terminal means the end.
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let site = site();
        let _leader = site.candidate("a");
        let worker = Process::open(site.next_start().pid);
        let mut stand_by = site.candidate("b");
        stand_by.stands_by();
        stand_by.signal(signal);
        assert_eq!(stand_by.code(), code);
        assert!(!worker.is_dead());
        assert_eq!(site.json(&["status", "nightly", "--json"])[0]["leader"], "a");
    }
}

#[test]
fn other_signals_reach_the_command() {
    let site = site();
    let script = "for s in HUP QUIT USR1 USR2 WINCH; do trap \"echo got $s\" $s; done; echo ready $$; \
                  while :; do sleep 1; done";
    let leader = site.candidate_running("a", &[], &sh(script));
    site.words.find("the command to be ready", |line| line.starts_with("ready").then_some(()));
    let signals = [
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::WINCH, "WINCH"),
    ];
    for (signal, name) in signals {
        leader.signal(signal);
        assert_eq!(site.words.next(name), format!("got {name}"));
    }
}
