//! What candidates tell of their leadership, as lines that the history checker reads.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use tenure::blocking::Candidacy;
use tenure::{Event, EventKind};
use tenure_history::{History, Limits};
use tenure_testkit::bound::boot_ns;
use tenure_testkit::scenario::ELECTION;

use crate::journal::append;

/// Writes down what an election tells, until it has nothing more to tell.
pub(crate) fn write_down(candidacy: &Candidacy, path: PathBuf) -> JoinHandle<()> {
    let (events, candidate) = (candidacy.events(), candidacy.candidate().to_string());
    thread::spawn(move || {
        let mut trusted_until = None;
        for event in events {
            if let Some(line) = line(&event, &candidate, &mut trusted_until) {
                append(&path, &format!("{line}\n"));
            }
        }
    })
}

/// Notes that a process is being killed, which it cannot say itself.
pub(crate) fn note_kill(path: &Path, candidate: &str, pid: i32) {
    let line =
        json!({"event": "killed", "election": ELECTION, "candidate": candidate, "pid": pid, "boot_ns": boot_ns()});
    append(path, &format!("{line}\n"));
}

/// What the history checker says, if it finds anything wrong.
pub(crate) fn wrong(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let verdict = History::parse(text.lines()).verdict(&Limits::default());
    (!verdict.is_good()).then(|| verdict.to_string())
}

fn line(event: &Event, candidate: &str, trusted_until: &mut Option<u64>) -> Option<Value> {
    let (what, term, reason) = match &event.kind {
        EventKind::Elected { term, trust, .. } => {
            *trusted_until = Some(trust.until.as_nanos());
            ("elected", Some(term.get()), None)
        }
        EventKind::Renewed { term, trust } => {
            *trusted_until = Some(trust.until.as_nanos());
            ("renewed", Some(term.get()), None)
        }
        EventKind::Lost { term, reason, .. } => ("lost", Some(term.get()), Some(reason.as_str())),
        EventKind::Stopped => ("stopped", None, None),
        _ => return None,
    };
    Some(json!({
        "event": what,
        "election": ELECTION,
        "candidate": candidate,
        "pid": std::process::id(),
        "term": term,
        "reason": reason,
        "boot_ns": event.at.as_nanos(),
        "trusted_until_boot_ns": term.and(*trusted_until),
    }))
}
