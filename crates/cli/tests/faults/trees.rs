//! What a command starts dies with it, and the command dies with nothing but its guard.

use rustix::process::Signal;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::stores::Backend;

use crate::scenario;

// The shell speaks before the worker does: what comes before the line that is waited for is not looked at again.

/// The worker runs as a child of a shell, and both in one group.
const AS_CHILD: &str = "echo main $$; \"$@\" & wait; wait";
/// The worker leaves its parent, its group and its session, as daemons do.
const AS_DAEMON: &str = "echo main $$; (setsid \"$@\" < /dev/null & ); exec sleep 600";

pub(crate) fn case_23_the_children_of_a_command_are_dead_before_the_next_one_starts(store: &dyn Backend) {
    nothing_is_left_of(store, AS_CHILD);
}

pub(crate) fn case_24_a_command_that_daemonised_is_dead_before_the_next_one_starts(store: &dyn Backend) {
    nothing_is_left_of(store, AS_DAEMON);
}

fn nothing_is_left_of(store: &dyn Backend, script: &str) {
    for signal in [Signal::KILL, Signal::TERM] {
        let scenario = scenario(store);
        let leader = scenario.candidate_with("a", &[], &["sh", "-c", script, "sh"]);
        let main = scenario.words.find("the shell", |line| line.strip_prefix("main ")?.parse().ok());
        let (main, worker) = (ProcessHandle::open(main), ProcessHandle::open(scenario.next_start().pid));
        assert!(!main.is_dead() && !worker.is_dead());
        let next = scenario.candidate("b");
        next.stands_by();
        leader.signal(signal);
        assert_eq!(scenario.next_start().candidate, "b");
        if signal == Signal::KILL {
            scenario.judge_crash(&[&main, &worker]);
        } else {
            assert!(main.is_dead() && worker.is_dead());
            scenario.judge();
        }
    }
}

/// The kernel kills a command with the *thread* that forked it. Threads of `tenure` come and go, so none of them may be
/// that one.
pub(crate) fn case_27_no_thread_that_ends_takes_the_command_along(store: &dyn Backend) {
    let scenario = scenario(store);
    let leader = scenario.candidate("a");
    let worker = ProcessHandle::open(scenario.next_start().pid);
    let guard = worker.parent();
    assert_eq!(guard.parent().pid, leader.running.process.pid);
    assert_eq!(guard.threads().len(), 1, "a thread that is not the only one may end before its process does");
    assert!(leader.running.process.threads().len() > 1, "there are no threads here that could end");
    // Longer than a lease lives that is not renewed, and than any thread for one task.
    assert!(!worker.ends_within(scenario.timing().more_than_a_lease()));
    assert_eq!(scenario.journal().starts(), 1);
}
