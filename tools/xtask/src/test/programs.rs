//! Runs test programs side by side. Most tests wait for a clock, a server or a child process, so that one program after
//! the other would leave the processors idle.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::scratch;
use crate::job::RunningPart;
use crate::process;
use crate::silence::SilenceWatch;

/// Builds the chosen targets of all crates once, and runs every test in them.
///
/// All features are on, because a test whose feature is off would be skipped silently. Every program runs to its end,
/// because the first failure is seldom the whole story.
pub(crate) fn run(job: &mut RunningPart<'_>, targets: &str) -> Result<(), String> {
    let mut build = process::cargo();
    build.args(["test", "--locked", "--workspace", "--all-features", "--no-run"]).args(targets.split(' '));
    let messages = job.messages(build.arg("--message-format=json-render-diagnostics"))?;
    let programs: Vec<TestProgram> = longest_first(messages.lines().filter_map(TestProgram::of_message).collect());
    if programs.is_empty() {
        return Err(format!("cargo built no test program for {targets}"));
    }
    let failed = side_by_side(job, &programs);
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(format!("{} of {} test programs failed: {}", names.len(), programs.len(), names.join(", "))),
    }
}

/// Runs all of them, a few at a time, and names those that failed. The output of each is kept in one piece.
fn side_by_side(job: &mut RunningPart<'_>, programs: &[TestProgram]) -> Vec<String> {
    let waiting = Mutex::new(programs.iter());
    let (reports, reported) = mpsc::channel();
    let mut failed = Vec::new();
    thread::scope(|scope| {
        // Where files are on a disk, programs would wait for each other's flushes.
        let at_a_time = if scratch::directory().is_some() { AT_A_TIME } else { 1 };
        for _ in 0..at_a_time.min(programs.len()) {
            let (waiting, reports) = (&waiting, reports.clone());
            scope.spawn(move || {
                // The lock is held only while the next one is taken.
                while let Some(program) = { waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next() } {
                    program.run(&reports);
                }
            });
        }
        drop(reports);
        for report in reported {
            match report {
                Report::Line(line) => job.glance(&line),
                Report::Ended { name, lines, problem } => {
                    lines.iter().for_each(|line| job.keep(line));
                    failed.extend(problem.map(|problem| format!("{name} ({problem})")));
                }
            }
        }
    });
    failed
}

/// What a program that runs beside others tells.
enum Report {
    Line(String),
    Ended { name: String, lines: Vec<String>, problem: Option<String> },
}

/// A program with tests in it.
#[derive(Debug, PartialEq, Eq)]
struct TestProgram {
    name: String,
    file: PathBuf,
    directory: PathBuf,
}

impl TestProgram {
    /// From what cargo says of one thing that it has built.
    fn of_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        let package = directory.file_name()?.to_string_lossy().into_owned();
        Some(Self {
            name: format!("{package}/{}", message["target"]["name"].as_str()?),
            file: message["executable"].as_str()?.into(),
            directory,
        })
    }

    fn run(&self, reports: &Sender<Report>) {
        let started = Instant::now();
        let mut lines = vec![String::new(), format!("     Running {}", self.name)];
        let ended = process::run_watched(&mut self.command(), SilenceWatch::over_program(SILENCE), |_, line| {
            lines.push(line.to_owned());
            // Nobody listens any more when the whole run is being ended.
            let _ = reports.send(Report::Line(line.to_owned()));
        });
        lines.push(format!("{} took {:.1} s", self.name, started.elapsed().as_secs_f64()));
        let problem = match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let _ = reports.send(Report::Ended { name: self.name.clone(), lines, problem });
    }

    /// As cargo would run it.
    fn command(&self) -> Command {
        // Signals that are ignored where this was started, as under nohup, would be ignored in all that tests start.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(&self.file);
        command.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        command.args(["--test-threads", TESTS_AT_A_TIME]);
        if let Some(directory) = scratch::directory() {
            command.env("TMPDIR", directory);
        }
        command
    }

    fn number_of_tests(&self) -> usize {
        let listed = self.command().args(["--list", "--format", "terse"]).output();
        listed.map_or(0, |output| output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count())
    }
}

/// By the number of tests: a long one that begins last would be waited for alone.
fn longest_first(mut programs: Vec<TestProgram>) -> Vec<TestProgram> {
    programs.sort_by_cached_key(|program| (program.name != LONGEST, std::cmp::Reverse(program.number_of_tests())));
    programs
}

/// It waits for leases to run out, on every store.
const LONGEST: &str = "cli/faults";

/// Chosen by measuring on two processors, which eight tests at a time keep busy about half of the time.
const AT_A_TIME: usize = 2;
const TESTS_AT_A_TIME: &str = "4";

/// The longest that a test program works without a word is some minutes, on a slow machine.
const SILENCE: Duration = Duration::from_secs(10 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    #[test]
    fn a_test_program_is_found_among_what_cargo_says() {
        let said = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"name":"t"},
            "profile":{"test":true},"executable":"/w/target/t-1"}"#;
        let expected =
            TestProgram { name: "a/t".into(), file: "/w/target/t-1".into(), directory: "/w/crates/a".into() };
        assert_eq!(TestProgram::of_message(said), Some(expected));
        assert_eq!(TestProgram::of_message(&said.replace("true", "false")), None, "a program without tests");
        assert_eq!(TestProgram::of_message("   Compiling a v0.1.0"), None);
    }

    #[test]
    fn all_run_and_the_failed_ones_are_named() {
        let mut screen = Screen::to(Box::new(std::io::sink()), false, false);
        let mut job = RunningPart::new(Path::new("."), &mut screen);
        let program = |file: &str| TestProgram { name: file.to_owned(), file: file.into(), directory: "/".into() };
        let programs: Vec<TestProgram> = ["true", "false", "true", "no-such-program", "true"].map(program).into();
        let failed = side_by_side(&mut job, &programs);
        let (_, log) = job.finish();
        assert_eq!(failed.len(), 2, "{failed:?}");
        assert!(failed.iter().any(|name| name.starts_with("false (")), "{failed:?}");
        assert_eq!(log.matches(" took ").count(), 5, "{log}");
    }
}
