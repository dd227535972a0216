//! The command as it is typed.

use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn list_names_every_part_and_runs_none() {
    let output = xtask(&["test", "--list"]);
    assert!(output.status.success());
    let listing = stdout(&output);
    let names: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names,
        [
            "packages",
            "repository",
            "msrv",
            "publish",
            "format",
            "lints",
            "unit",
            "simulation",
            "model",
            "mutants",
            "integration",
            "examples",
            "doctests",
            "docs",
            "features",
            "outside"
        ]
    );
}

#[test]
fn an_unknown_part_is_refused_with_the_known_ones() {
    let output = xtask(&["test", "--only", "nothing"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("doctests"));
}

#[test]
fn a_run_ends_with_the_closing_line() {
    let output = xtask(&["test", "--only", "msrv"]);
    let shown = stdout(&output);
    assert!(output.status.success(), "{shown}");
    assert!(shown.starts_with("[1/1] msrv …\n[1/1] msrv: ok, "), "{shown}");
    assert!(shown.ends_with("\n\n0 passed, 0 failed\n"), "{shown}");
}
