//! `tenure doctor` and `tenure demo`.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::Value;
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::Scenario;

use crate::support::{scenario, tenure};

fn doctor(scenario: &Scenario, store: &str) -> FinishedProcess {
    RunningProcess::start(&mut scenario.bare(["--store", store, "doctor"])).finish()
}

/// Checks that it says what is wrong, in a line that begins with `bad`.
fn assert_bad(finished: &FinishedProcess, word: &str) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let complaint = finished.stdout.lines().find(|line| line.starts_with("bad")).unwrap_or_default();
    assert!(complaint.contains(word), "no {word:?} in {finished:?}");
    assert!(finished.stdout.ends_with("some checks failed: see above"), "{finished:?}");
    assert!(!finished.stderr.contains("panicked"), "{finished:?}");
}

#[test]
fn a_good_store_is_well() {
    let scenario = scenario();
    let finished = scenario.finish(["doctor".to_owned()].into_iter().chain(scenario.timing().options()));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.ends_with("all checks passed"), "{finished:?}");
    let checks = scenario.json(&["doctor", "--json"]);
    for check in checks.as_array().unwrap() {
        assert!(["check", "verdict", "detail"].iter().all(|field| check[*field].is_string()), "{check}");
        assert_ne!(check["verdict"], "bad", "{check}");
    }
    let names: Vec<&Value> = checks.as_array().unwrap().iter().map(|check| &check["check"]).collect();
    for expected in [
        "timing",
        "failover",
        "outage",
        "load",
        "containment",
        "promise",
        "messages",
        "broadcasts",
        "reach",
        "writable",
    ] {
        assert!(names.contains(&&Value::from(expected)), "no {expected} in {names:?}");
    }
}

#[test]
fn a_store_that_sees_processes_die_promises_more() {
    let checks = scenario().json(&["doctor", "--json"]);
    let failover = checks.as_array().unwrap().iter().find(|check| check["check"] == "failover").unwrap();
    let detail = failover["detail"].as_str().unwrap();
    assert!(detail.starts_with("new leader within milliseconds after a crash; within "), "{detail}");
}

#[test]
fn a_directory_that_does_not_exist_is_named() {
    let scenario = scenario();
    assert_bad(&doctor(&scenario, &format!("sqlite:{}", scenario.path("missing/tenure.db").display())), "missing");
    assert!(!scenario.path("missing").exists());
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let scenario = scenario();
    let foreign = scenario.path("foreign");
    let content = "this is somebody's letter, and no database at all\n".repeat(100);
    std::fs::write(&foreign, &content).unwrap();
    assert_bad(&doctor(&scenario, &format!("sqlite:{}", foreign.display())), "foreign");
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), content);
    assert_bad(&doctor(&scenario, &format!("sqlite:{}", scenario.path("").display())), "");
}

#[test]
fn a_file_that_cannot_be_written_is_bad() {
    let scenario = scenario();
    assert_eq!(scenario.finish(["status"]).code, Some(0));
    let file = scenario.path("tenure.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    let mut command = scenario.tenure(["doctor"]);
    if rustix::process::geteuid().is_root() {
        // Permissions do not bind root, so the command runs as nobody, who may not see where the program was built.
        std::fs::set_permissions(scenario.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
        command = Command::new(scenario.copy_of(tenure()));
        command.args(["--store", &scenario.store(), "doctor"]).uid(65534).gid(65534);
    }
    let finished = RunningProcess::start(&mut command).finish();
    assert_bad(&finished, "tenure.db");
}

/// Every mount of the same layers shows the file as another one.
#[test]
fn a_file_on_the_layers_of_a_container_is_warned_of() {
    let scenario = scenario();
    let script = "mount -t tmpfs -o mode=700 none . && cd $PWD && mkdir lower upper work merged && chmod 700 upper && \
                  mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged && \
                  export TENURE_STORE=sqlite:merged/t.db && \"$0\" run once --quiet -- true && exec \"$0\" doctor --json";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(tenure()).current_dir(scenario.path(""));
    let finished = RunningProcess::start(&mut command).finish();
    let checks: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"));
    let check = checks.iter().find(|check| check["check"] == "file system").unwrap();
    assert_eq!(check["verdict"], "warning", "{check}");
    assert!(check["detail"].as_str().unwrap().contains("put the file on a volume"), "{check}");
}

#[test]
fn a_timing_that_cannot_work_is_bad() {
    let scenario = scenario();
    assert_bad(&scenario.finish(["doctor", "--ttl", "3s", "--renew", "2s"]), "timing");
}

#[test]
fn the_demo_uses_the_store_that_is_named() {
    let scenario = scenario();
    let finished = scenario.finish(["demo"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains(&scenario.store()), "{finished:?}");
    let elections = scenario.json(&["status", "--json"]);
    assert!(elections[0]["election"].as_str().unwrap().starts_with("demo-"), "{elections}");
    let refused = RunningProcess::start(&mut scenario.bare(["--store", "memory:", "demo"])).finish();
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn the_demo_shows_a_failover_and_a_hand_over() {
    let scenario = scenario();
    let finished = RunningProcess::start(&mut scenario.bare(["demo"])).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for sentence in ["Failover took ", "Hand-over took "] {
        assert!(finished.stdout.lines().any(|line| line.starts_with(sentence)), "{finished:?}");
    }
    assert!(!scenario.path("home").exists(), "the demo has a store of its own");
}
