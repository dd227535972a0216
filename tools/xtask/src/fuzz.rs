//! `cargo xtask fuzz`: every target of the tree, with as many inputs as there is time for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::process;
use crate::screen::Screen;

/// What to try, and how hard.
#[derive(clap::Args)]
pub(crate) struct FuzzOptions {
    /// Try only this target, named as its folder in tools/fuzz/corpus
    #[arg(long)]
    target: Option<String>,
    /// How many inputs each target tries; slow ones try fewer
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// Which inputs to make: the same number makes the same ones
    #[arg(long)]
    seed: Option<u64>,
}

/// Builds the targets, tries them, and ends with one line.
pub(crate) fn run(root: &Path, options: &FuzzOptions) -> Result<ExitCode, String> {
    let wanted = wanted(targets(root)?, options.target.as_ref())?;
    let (began, mut screen, mut session) = (Instant::now(), Screen::stdout(false), FuzzSession::default());
    screen.begin("fuzz");
    let status = process::run(command(options).current_dir(root), |_, line| session.hear(line, &mut screen));
    let is_success = status.map_err(|error| format!("cannot run cargo: {error}"))?.success();
    session.failures.iter().for_each(|failure| screen.note(failure));
    screen.note(&session.summary(began.elapsed()));
    let missed: Vec<&str> = wanted.difference(&session.finished).map(String::as_str).collect();
    if is_success && missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if session.failures.is_empty() {
        screen.failure(&session.log, &format!("not tried to the end: {}", missed.join(", ")));
    }
    Ok(ExitCode::FAILURE)
}

/// Every target has a folder of inputs.
fn targets(root: &Path) -> Result<BTreeSet<String>, String> {
    let corpus = root.join("tools/fuzz/corpus");
    let folders = fs::read_dir(&corpus).map_err(|error| format!("cannot read {}: {error}", corpus.display()))?;
    Ok(folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok()).collect())
}

fn wanted(known: BTreeSet<String>, only: Option<&String>) -> Result<BTreeSet<String>, String> {
    match only {
        None => Ok(known),
        Some(target) if known.contains(target) => Ok(BTreeSet::from([target.clone()])),
        Some(target) => {
            let known: Vec<String> = known.into_iter().collect();
            Err(format!("there is no target {target}; use one of {}", known.join(", ")))
        }
    }
}

fn command(options: &FuzzOptions) -> Command {
    let mut command = process::cargo();
    command.args(["test", "--locked", "--profile", "sim", "--all-features", "--no-fail-fast"]);
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package])).args([
        "--lib",
        "--test",
        "fuzz",
        "fuzz_",
        "--",
        "--nocapture",
    ]);
    command.env("TENURE_FUZZ_CASES", options.cases.to_string());
    if let Some(seed) = options.seed {
        command.env("TENURE_FUZZ_SEED", seed.to_string());
    }
    if let Some(target) = &options.target {
        command.env("TENURE_FUZZ_TARGET", target);
    }
    command
}

/// What the targets have said so far.
#[derive(Default)]
struct FuzzSession {
    finished: BTreeSet<String>,
    inputs: u64,
    failures: Vec<String>,
    is_in_failure: bool,
    log: String,
}

impl FuzzSession {
    fn hear(&mut self, line: &str, screen: &mut Screen) {
        self.log += &format!("{line}\n");
        // What goes on after the first line of a failure is indented.
        self.is_in_failure &= line.starts_with("  ");
        if let Some(failure) = self.failures.last_mut().filter(|_| self.is_in_failure) {
            *failure += &format!("\n{line}");
        } else if let Some((_, told)) = line.split_once("fuzz target ") {
            self.hear_of_target(told, screen);
        } else if let Some((_, progress)) = line.split_once("fuzz progress ") {
            screen.progress(progress);
        } else if line.trim_start().starts_with("Compiling ") {
            screen.progress(line.trim_start());
        }
    }

    fn hear_of_target(&mut self, told: &str, screen: &mut Screen) {
        let result = told.split_once(": ").and_then(|(target, result)| Some((target, result.split_once(" inputs, ")?)));
        match result.and_then(|(target, (inputs, _))| Some((target, inputs.parse::<u64>().ok()?))) {
            Some((target, inputs)) => {
                self.inputs += inputs;
                self.finished.insert(target.to_owned());
                screen.note(told);
            }
            None if told.contains(" failed with seed ") => {
                self.failures.push(format!("fuzz target {told}"));
                self.is_in_failure = true;
            }
            // It says that it is not wanted.
            None => {}
        }
    }

    fn summary(&self, took: Duration) -> String {
        let targets = self.finished.len() + self.failures.len();
        let (inputs, failures) = (grouped(self.inputs), self.failures.len());
        format!("fuzz: {targets} targets, {inputs} inputs, {failures} failures, {:.0} s", took.as_secs_f64())
    }
}

/// With a comma before every three digits, because nobody counts zeros.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let is_boundary = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits.char_indices().flat_map(|(at, digit)| is_boundary(at).then_some(',').into_iter().chain([digit])).collect()
}

/// Those that have targets.
const PACKAGES: &[&str] = &["tenure-core", "tenure-sqlite", "tenure-redis", "tenure", "tenure-cli"];

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> FuzzSession {
        let mut screen = Screen::to(Box::new(std::io::sink()), false, false);
        let mut session = FuzzSession::default();
        lines.iter().for_each(|line| session.hear(line, &mut screen));
        session
    }

    #[test]
    fn the_last_line_sums_up() {
        let session = heard(&[
            "test a::fuzz_one ... fuzz progress one: 5 of about 9 inputs",
            "fuzz target one: 1000022 inputs, 3.0 s",
            "fuzz target two: not tried, only one is",
            "test b::fuzz_three ... fuzz target three: 7 inputs, 0.1 s",
        ]);
        assert_eq!(session.summary(Duration::from_secs(41)), "fuzz: 2 targets, 1,000,029 inputs, 0 failures, 41 s");
        assert!(session.finished.contains("three") && !session.finished.contains("two"));
    }

    #[test]
    fn a_failure_is_kept_with_its_input_and_without_its_backtrace() {
        let session = heard(&[
            "it must hold: fuzz target one failed with seed 5 after 2 others: left == right",
            "  left: 1",
            "  the input: \"x\"",
            "stack backtrace:",
            "   0: somewhere",
        ]);
        assert_eq!(
            session.failures,
            ["fuzz target one failed with seed 5 after 2 others: left == right\n  left: 1\n  the input: \"x\""]
        );
        assert!(session.summary(Duration::ZERO).contains("1 targets, 0 inputs, 1 failures"));
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let known = || BTreeSet::from(["one".to_owned(), "two".to_owned()]);
        assert_eq!(wanted(known(), Some(&"two".to_owned())).unwrap().len(), 1);
        assert!(wanted(known(), Some(&"six".to_owned())).unwrap_err().ends_with("use one of one, two"));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
