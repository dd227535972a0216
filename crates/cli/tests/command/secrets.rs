//! A password in the address of the store is shown by nobody.

use rustix::process::Signal;
use tenure_testkit::eventually;
use tenure_testkit::postgres::APP_PASSWORD;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::migrate::{APP, PASSWORD, POSTGRES};
use crate::support::{WITH_TABLES, scenario, tenure};

const CANARY: &str = "canary-7f3a";

const COMMANDS: [&[&str]; 11] = [
    &["run", ELECTION, "--", "true"],
    &["cron", "status"],
    &["cron", "forget", ELECTION, "job"],
    &["elect", ELECTION],
    &["status"],
    &["watch"],
    &["history", ELECTION],
    &["resign", ELECTION],
    &["doctor"],
    &["doctor", "--json"],
    &["--help"],
];

fn assert_silent(scenario: &Scenario, store: &str, in_environment: bool) {
    for command in COMMANDS {
        let mut tenure =
            if in_environment { scenario.bare(["--log", "trace"]) } else { scenario.bare(["--store", store]) };
        if in_environment {
            tenure.env("TENURE_STORE", store);
        } else {
            tenure.args(["--log", "trace"]);
        }
        let finished = RunningProcess::start(tenure.args(command)).finish();
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(!said.is_empty() && !said.contains(CANARY), "{store} {command:?}: {said}");
        assert!(!said.contains("panicked"), "{store} {command:?}: {said}");
    }
}

#[test]
fn a_password_never_appears() {
    let scenario = scenario();
    for store in [
        "postgres://app:CANARY@127.0.0.1:1/app?password=CANARY&no_such_option=CANARY",
        "redis://:CANARY@127.0.0.1:1/0?password=CANARY",
        "sqlite:x.db?key=CANARY",
    ] {
        let store = store.replace("CANARY", CANARY);
        assert_silent(&scenario, &store, false);
        assert_silent(&scenario, &store, true);
    }
}

#[test]
fn a_password_in_a_mistyped_address_never_appears_either() {
    let scenario = scenario();
    for store in [
        "redis:app:CANARY@127.0.0.1:1/0",
        "postgres:/app:CANARY@127.0.0.1:1/app",
        "postgres//app:CANARY@127.0.0.1:1",
        "CANARY",
    ] {
        assert_silent(&scenario, &store.replace("CANARY", CANARY), true);
    }
}

#[test]
fn the_command_sees_no_password_in_its_environment_or_its_arguments() {
    let scenario = scenario();
    // The path stands for a password: this store needs none.
    let store = format!("sqlite:{}", scenario.path(CANARY).display());
    let look = "tr '\\0' '\\n' < /proc/$$/environ; tr '\\0' '\\n' < /proc/$PPID/cmdline";
    let mut command = scenario.bare(["run", ELECTION, "--quiet", "--", "sh", "-c", look]);
    let finished = RunningProcess::start(command.env("TENURE_STORE", store)).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("TENURE_TERM=") && !finished.stdout.contains(CANARY), "{finished:?}");
}

#[test]
fn neither_the_command_nor_its_guard_has_the_password_of_the_store_unless_it_is_to_be_kept() {
    let scenario = scenario();
    let database = POSTGRES.new_database();
    let address = database.url_as(APP, PASSWORD);
    let store = format!("postgres+advisory://{APP}@{}", address.split_once('@').unwrap().1);
    let look = "env; tr '\\0' '\\n' < /proc/$PPID/environ";
    let printed = |options: &[&str]| {
        let words = [&["--store", &store, "run", ELECTION, "--quiet"], options, &["--", "sh", "-c", look]].concat();
        let finished =
            RunningProcess::start(scenario.bare(words).env("PGPASSWORD", PASSWORD).env("PGAPPNAME", "shown")).finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.stdout
    };
    let hidden = printed(&[]);
    assert!(hidden.contains("PGAPPNAME=shown") && !hidden.contains(PASSWORD), "{hidden}");
    let kept = printed(&["--keep-env", "PGPASSWORD"]);
    assert!(kept.contains(&format!("PGPASSWORD={PASSWORD}")), "{kept}");
}

/// What neither the guard nor its command finds in the environment, the guard has all the same when it needs it.
#[test]
fn after_a_crash_the_guard_opens_the_store_with_the_password_that_tenure_was_given() {
    let scenario = Scenario::new(&WITH_TABLES, tenure());
    let store = scenario.store();
    let (login, place) = store.strip_prefix("postgres://").unwrap().split_once('@').unwrap();
    let (user, _) = login.split_once(':').unwrap();
    let address = format!("postgres://{user}@{place}");
    let words = ["--store", &address, "run", ELECTION, "--ttl", "30s", "--", "sh", "-c", "echo leads; exec sleep 600"];
    let leader = RunningProcess::start(scenario.bare(words).env("PGPASSWORD", APP_PASSWORD));
    leader.stdout().find("leadership", |line| (line == "leads").then_some(()));
    leader.signal(Signal::KILL);
    eventually("the release of the lease", || {
        let history = scenario.json(&["history", ELECTION, "--json"]);
        history.as_array().unwrap().iter().any(|change| change["reason"] == "crashed")
    });
}
