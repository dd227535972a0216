//! What is said of a promise that was not kept: enough to see it happen, and to see it again.

use std::fmt::Write;

use crate::fault::FaultClass;
use crate::options::SimOptions;
use crate::run::{replay, shrink};

/// How much of the end of a timeline is shown.
const LINES_SHOWN: usize = 80;

/// Runs it again with as few faults as still break the same promise, and tells what happened.
#[must_use]
pub fn report(options: &SimOptions) -> String {
    let smallest = shrink(options);
    let run = replay(&smallest);
    let timeline = run.timeline.to_string();
    let lines: Vec<&str> = timeline.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
    let mut report = String::new();
    let verdict = run.violation.map_or_else(|| "no promise is broken".to_owned(), |violation| violation.to_string());
    let _ = writeln!(report, "{verdict}\n\n{smallest}\n");
    let _ = writeln!(report, "the last {} of {} lines:\n{}\n", shown.len(), lines.len(), shown.join("\n"));
    let _ = write!(report, "replay: {}", command(options, &smallest));
    report
}

fn command(options: &SimOptions, smallest: &SimOptions) -> String {
    let left_out = |fault: &&FaultClass| !smallest.faults.contains(fault);
    let without: Vec<String> = options.faults.iter().filter(left_out).map(ToString::to_string).collect();
    let mut command = format!("cargo xtask sim --seed {}", options.seed);
    if let Some(mistake) = options.mistake {
        let _ = write!(command, " --mutant {mistake}");
    }
    if !without.is_empty() {
        let _ = write!(command, " --without {}", without.join(","));
    }
    command
}
