//! The session in `docs/history.md`: real processes, a kill, a pause and a hand-over. How its lines are judged is tested with the
//! checker itself, on those that such a session left.

use std::fs::File;
use std::io::BufReader;

use tenure_history::{History, Limits};

use crate::stage::Stage;

pub(crate) fn session([session]: [String; 1]) {
    let stage = Stage::new();
    // Its last candidate ends after the shell has gone on.
    stage.does(&format!("{session}wait"));
    let mut history = History::default();
    for name in ["a.jsonl", "b.jsonl", "c.jsonl", "kills.jsonl"] {
        history.read(name, BufReader::new(File::open(stage.path(name)).unwrap())).unwrap();
    }
    // Who led when depends on how fast the machine starts processes.
    let verdict = history.verdict(&Limits::default());
    assert!(verdict.is_good(), "{verdict}");
    let [election] = &verdict.elections[..] else { panic!("one election is not {verdict}") };
    assert!(election.leaderships.len() > 1 && !election.takeovers.is_empty(), "{verdict}");
}
