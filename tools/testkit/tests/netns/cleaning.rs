//! What is left of a namespace: nothing, however its process ended.

use std::process::Command;
use std::thread;

use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use tenure_testkit::netns::{NetnsError, available};

use crate::support::{namespace, says, start, start_in, start_with};

#[test]
fn dropping_it_kills_what_runs_inside_and_deletes_everything() {
    let namespace = namespace();
    let name = namespace.name().to_owned();
    assert!(is_there(&name));
    let inside = start_in(&namespace, "server");
    says(&inside);
    drop(namespace);
    inside.process.await_end("the server");
    assert!(!is_there(&name));
}

#[test]
fn the_next_process_deletes_what_a_killed_one_left_and_nothing_else() {
    let mine = namespace();
    let mut killed = start("owner of a namespace");
    let left_over = says(&killed);
    assert!(is_there(&left_over));
    killed.signal(Signal::KILL);
    killed.exit();
    let mut next = start("owner of a namespace");
    assert!(is_there(&says(&next)));
    assert!(!is_there(&left_over));
    assert!(is_there(mine.name()));
    // The end of its input lets it end, and clear up.
    drop(next.child().stdin.take());
    assert_eq!(next.code(), 0);
}

#[test]
fn without_the_right_to_do_it_the_error_says_what_is_missing() {
    let powerless = thread::spawn(|| {
        let nothing = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing })
            .unwrap();
        available().unwrap_err()
    });
    let error = powerless.join().unwrap();
    assert!(matches!(error, NetnsError::NotAllowed { .. }), "{error}");
    assert!(error.to_string().contains("CAP_NET_ADMIN and CAP_SYS_ADMIN"), "{error}");
}

#[test]
fn without_the_command_the_error_names_its_package() {
    let mut pathless = Command::new("env");
    pathless.arg("PATH=");
    let answer = says(&start_with(pathless, "asker"));
    assert!(answer.contains("iproute2"), "{answer}");
}

#[test]
fn here_it_is_available() {
    available().unwrap();
}

/// Whether anything goes by this name.
fn is_there(name: &str) -> bool {
    let listings = [&["netns", "list"][..], &["-brief", "link"]].map(|arguments| {
        let output = Command::new("ip").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    listings.concat().split([' ', '@', '\n']).any(|word| word == name)
}
