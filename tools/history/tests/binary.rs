//! The program on files: a real session of three processes, with a kill, a pause and a hand-over, and what is made of it
//! when lines are missing.

// The helpers of tests fail like tests do, but clippy takes only the functions marked as tests for such.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn session(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/session").join(name)
}

fn checker() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tenure-history"))
}

fn on_session(names: &[&str], options: &[&str]) -> Output {
    checker().args(names.iter().map(|name| session(name))).args(options).output().unwrap()
}

fn on_input(input: &[u8], options: &[&str]) -> Output {
    let mut command = checker();
    let mut child =
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const ALL: [&str; 4] = ["c.jsonl", "kills.jsonl", "b.jsonl", "a.jsonl"];

#[test]
fn a_right_history_is_good() {
    let judged = on_session(&ALL, &["--failover-max", "4s"]);
    assert_eq!(judged.status.code(), Some(0), "{judged:?}");
    let said = text(&judged.stdout);
    assert!(said.starts_with("election demo: 3 candidates, 4 leaderships, terms 1 to 4\n"), "{said}");
    assert!(said.contains("    killed: 1, 10.1 ms\n") && said.contains("no two leaders overlapped"), "{said}");
}

#[test]
fn a_kill_that_nobody_told_of_is_an_overlap_with_its_lines() {
    let judged = on_session(&["a.jsonl", "b.jsonl", "c.jsonl"], &[]);
    assert_eq!(judged.status.code(), Some(1), "{judged:?}");
    let lines = format!("({}:1, {}:2)", session("a.jsonl").display(), session("b.jsonl").display());
    let said = text(&judged.stdout);
    assert!(said.contains("violation: overlap: a under term 1 and b under term 2") && said.contains(&lines), "{said}");
}

#[test]
fn a_takeover_may_be_too_slow() {
    let judged = on_session(&ALL, &["--failover-max", "500ms"]);
    assert_eq!(judged.status.code(), Some(1), "{judged:?}");
    assert!(text(&judged.stdout).contains("violation: takeover: it took 606.3 ms"), "{judged:?}");
}

#[test]
fn json_says_the_same() {
    let good: Value = serde_json::from_slice(&on_session(&ALL, &["--json"]).stdout).unwrap();
    assert_eq!(
        (&good["good"], &good["elections"][0]["leaderships"][1]["end"]["how"]["lost"]),
        (&true.into(), &"expired".into())
    );
    let bad: Value = serde_json::from_slice(&on_session(&["a.jsonl", "b.jsonl"], &["--json"]).stdout).unwrap();
    let violation = &bad["elections"][0]["violations"][0];
    assert_eq!((&bad["good"], &violation["check"]), (&false.into(), &"overlap".into()));
    assert_eq!(violation["between_boot_ns"][0], 11_811_554_398_624_u64);
}

#[test]
fn standard_input_is_read_when_no_file_is_named() {
    let all: Vec<u8> = ALL.iter().flat_map(|name| std::fs::read(session(name)).unwrap()).collect();
    for options in [&[][..], &["-"]] {
        assert_eq!(on_input(&all, options).status.code(), Some(0));
    }
}

#[test]
fn what_cannot_be_used_is_told() {
    let malformed = on_input(b"{\"event\":\"elected\",\"elec\n\xff{\n", &[]);
    assert_eq!(malformed.status.code(), Some(2), "{malformed:?}");
    assert!(text(&malformed.stdout).contains("standard input:1: cannot be read: "), "{malformed:?}");
    let nothing = on_input(b"", &[]);
    assert_eq!((nothing.status.code(), text(&nothing.stdout)), (Some(2), "there are no events to judge\n"));
    let missing = on_session(&["absent.jsonl"], &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("absent.jsonl: No such file"), "{missing:?}");
    assert_eq!(on_session(&ALL, &["--failover-max", "4"]).status.code(), Some(2));
}

#[test]
fn the_picture_in_the_documents_is_that_of_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let picture = directory.path().join("history.svg");
    assert_eq!(on_session(&ALL, &["--svg", picture.to_str().unwrap()]).status.code(), Some(0));
    let documented = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/history.svg");
    let [drawn, documented] = [picture, documented].map(|path| std::fs::read_to_string(path).unwrap());
    assert!(drawn == documented, "run tenure-history --svg on tests/session again for docs/history.svg");
}

#[test]
fn pictures_are_written_where_they_are_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let (page, picture) = (directory.path().join("a.html"), directory.path().join("a.svg"));
    let options = ["--html", page.to_str().unwrap(), "--svg", picture.to_str().unwrap()];
    assert_eq!(on_session(&ALL, &options).status.code(), Some(0));
    assert!(std::fs::read_to_string(page).unwrap().contains("<svg "));
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg "));
    let nowhere = directory.path().join("absent/a.svg");
    assert_eq!(on_session(&ALL, &["--svg", nowhere.to_str().unwrap()]).status.code(), Some(2));
}
