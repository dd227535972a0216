//! A password in the address of the store is shown by nobody.

use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;

const CANARY: &str = "canary-7f3a";

const COMMANDS: [&[&str]; 9] = [
    &["run", ELECTION, "--", "true"],
    &["elect", ELECTION],
    &["status"],
    &["watch"],
    &["history", ELECTION],
    &["resign", ELECTION],
    &["doctor"],
    &["doctor", "--json"],
    &["--help"],
];

fn assert_silent(site: &Site, store: &str, in_environment: bool) {
    for command in COMMANDS {
        let mut tenure = if in_environment { site.bare(["--log", "trace"]) } else { site.bare(["--store", store]) };
        if in_environment {
            tenure.env("TENURE_STORE", store);
        } else {
            tenure.args(["--log", "trace"]);
        }
        let finished = Running::start(tenure.args(command)).finish();
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(!said.is_empty() && !said.contains(CANARY), "{store} {command:?}: {said}");
        assert!(!said.contains("panicked"), "{store} {command:?}: {said}");
    }
}

#[test]
fn a_password_never_appears() {
    let site = site();
    for store in [
        "postgres://app:use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
@db.example/app",
        "redis://:use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
@127.0.0.1:1/0?password=use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
",
        "sqlite:x.db?key=use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
",
    ] {
        let store = store.replace(
            "use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
",
            CANARY,
        );
        assert_silent(&site, &store, false);
        assert_silent(&site, &store, true);
    }
}

#[test]
fn a_password_in_a_mistyped_address_never_appears_either() {
    let site = site();
    for store in [
        "redis:app:use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
@db.example/0",
        "postgres:/app:use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
@db.example/app",
        "postgres//app:use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
@db.example",
        "use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
",
    ] {
        assert_silent(
            &site,
            &store.replace(
                "use tenure_testkit::running::Running;
use tenure_testkit::site::{ELECTION, Site};

use crate::support::site;
",
                CANARY,
            ),
            true,
        );
    }
}

#[test]
fn the_command_sees_no_password_in_its_environment_or_its_arguments() {
    let site = site();
    // The path stands for a password: this store needs none.
    let store = format!("sqlite:{}", site.path(CANARY).display());
    let look = "tr '\\0' '\\n' < /proc/$$/environ; tr '\\0' '\\n' < /proc/$PPID/cmdline";
    let mut command = site.bare(["run", ELECTION, "--quiet", "--", "sh", "-c", look]);
    let finished = Running::start(command.env("TENURE_STORE", store)).finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("TENURE_TERM=") && !finished.stdout.contains(CANARY), "{finished:?}");
}
