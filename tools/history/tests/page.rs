//! `docs/history.md` says what the program says of the recorded session.

// The helpers of tests fail like tests do, but clippy takes only the functions marked as tests for such.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tenure_pages::{blocks_of, commands, text_of};

const PAGE: &str = "docs/history.md";
const SESSION: &str = "tools/history/tests/session";

/// A directory with the files of the session.
fn session() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl", "c.jsonl", "kills.jsonl"] {
        fs::write(directory.path().join(name), text_of(&format!("{SESSION}/{name}"))).unwrap();
    }
    directory
}

/// What the program prints when it is given these arguments.
fn printed(directory: &Path, arguments: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tenure-history")).args(arguments).current_dir(directory).output();
    let output = output.unwrap();
    assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn transcripts_are_what_is_printed() {
    let session = session();
    let transcripts = blocks_of(PAGE, "console");
    assert_eq!(transcripts.len(), 2);
    for transcript in transcripts {
        let (line, expected) = transcript.strip_prefix("$ ").unwrap().split_once('\n').unwrap();
        let [words] = <[Vec<String>; 1]>::try_from(commands(line)).unwrap();
        assert_eq!(words[0], "tenure-history");
        assert_eq!(printed(session.path(), &words[1..]), expected, "{line}");
    }
}

#[test]
fn a_checkout_runs_it_without_installing_it() {
    let blocks = blocks_of(PAGE, "sh").into_iter().flat_map(|block| commands(&block));
    let runs: Vec<Vec<String>> = blocks.filter(|words| words[0] == "cargo").collect();
    let [run] = &runs[..] else { panic!("one run is not {runs:?}") };
    assert_eq!(run[..5], ["cargo", "run", "-p", "tenure-history", "--"]);
    assert!(printed(session().path(), &run[5..]).starts_with("election demo: 2 candidates"));
}

#[test]
fn the_line_of_a_killer_is_the_one_of_the_session() {
    let [line] = <[String; 1]>::try_from(blocks_of(PAGE, "json")).unwrap();
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&line), read(&text_of(&format!("{SESSION}/kills.jsonl"))));
}
