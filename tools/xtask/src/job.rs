//! What a part of a command may do while it runs: say something, and run commands whose output is kept.

use std::path::Path;
use std::process::Command;

use crate::process::{self, Stream};
use crate::screen::Screen;
use crate::tally::{self, TestTally};

/// One running part: everything it prints is kept for the case that it fails.
pub(crate) struct RunningPart<'a> {
    root: &'a Path,
    screen: &'a mut Screen,
    tally: TestTally,
    log: String,
    tests_so_far: u64,
    priority: PartPriority,
    seed: u64,
}

/// What a job's commands get of the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartPriority {
    Normal,
    /// Only what others leave.
    Idle,
}

impl<'a> RunningPart<'a> {
    pub(crate) fn new(root: &'a Path, screen: &'a mut Screen) -> Self {
        let (tally, priority) = (TestTally::default(), PartPriority::Normal);
        Self { root, screen, tally, log: String::new(), tests_so_far: 0, priority, seed: 0 }
    }

    pub(crate) fn with_priority(self, priority: PartPriority) -> Self {
        Self { priority, ..self }
    }

    pub(crate) fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The first seed of what is random.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The workspace's root folder.
    pub(crate) fn root(&self) -> &'a Path {
        self.root
    }

    /// Runs cargo with these space-separated arguments; fails when it fails.
    pub(crate) fn cargo(&mut self, arguments: &str) -> Result<(), String> {
        self.command(process::cargo().args(arguments.split(' '))).map(drop)
    }

    /// Runs a command in the workspace's root; gives what it wrote to its standard output.
    pub(crate) fn command(&mut self, command: &mut Command) -> Result<String, String> {
        self.run(command, |job, _, line| job.say(line))
    }

    /// The same for a command whose standard output is meant for programs: only the rest of what it prints is kept.
    pub(crate) fn messages(&mut self, command: &mut Command) -> Result<String, String> {
        self.run(command, |job, stream, line| match stream {
            Stream::Stdout => {}
            Stream::Stderr => job.say(line),
        })
    }

    fn run(&mut self, command: &mut Command, mut say: impl FnMut(&mut Self, Stream, &str)) -> Result<String, String> {
        let typed = process::describe(command);
        self.say(&format!("$ {typed}"));
        // Colours would hide the lines that are counted.
        command.current_dir(self.root).env("CARGO_TERM_COLOR", "never");
        let mut idle = (self.priority == PartPriority::Idle).then(|| process::when_idle(command));
        let command = idle.as_mut().unwrap_or(command);
        let mut stdout = String::new();
        let status = process::run(command, |stream, line| {
            if stream == Stream::Stdout {
                stdout.push_str(line);
                stdout.push('\n');
            }
            say(self, stream, line);
        });
        match status {
            Ok(status) if status.success() => Ok(stdout),
            Ok(status) => Err(format!("`{typed}` failed ({status})")),
            Err(error) => Err(format!("cannot run `{typed}`: {error}")),
        }
    }

    /// Keeps a line, counts it if it reports tests, and moves the progress on.
    pub(crate) fn say(&mut self, line: &str) {
        self.keep(line);
        self.glance(line);
    }

    /// Keeps a line, and counts it if it reports tests.
    pub(crate) fn keep(&mut self, line: &str) {
        self.log.push_str(line);
        self.log.push('\n');
        self.screen.detail(line);
        self.tally += tally::of_line(line);
    }

    /// Moves the progress on by a line that is kept later, when what runs beside others has ended.
    pub(crate) fn glance(&mut self, line: &str) {
        if tally::is_passed_test(line) {
            self.tests_so_far += 1;
            self.screen.progress(&format!("{} tests passed so far", self.tests_so_far));
        } else if let Some(step) = build_step(line).or_else(|| proof_step(line)) {
            self.screen.progress(step);
        }
    }

    /// Shows a line at once, because it tells of something done to the machine.
    pub(crate) fn announce(&mut self, line: &str) {
        self.screen.note(line);
    }

    /// The tests counted and everything that was printed.
    pub(crate) fn finish(self) -> (TestTally, String) {
        (self.tally, self.log)
    }
}

/// Cargo right-aligns its verbs, so that its own lines stand out from those of the programs it runs.
fn build_step(line: &str) -> Option<&str> {
    let step = line.trim_start();
    let is_step = ["Compiling ", "Checking ", "Documenting ", "Running "].iter().any(|verb| step.starts_with(verb));
    // The rest is the folder or file, which is too long for a line of progress.
    (is_step && step.len() < line.len()).then(|| step.split(" (").next().unwrap_or(step))
}

/// The proof says now and then how far it is.
fn proof_step(line: &str) -> Option<&str> {
    ["sim: ", "model: ", "mutants: "].iter().any(|way| line.starts_with(way)).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_own_lines_are_steps() {
        assert_eq!(build_step("   Compiling serde v1.0.0 (x)"), Some("Compiling serde v1.0.0"));
        assert_eq!(build_step("Compiling is hard"), None);
    }

    #[test]
    fn a_failing_command_is_named_and_its_output_kept() {
        let mut screen = Screen::to(Box::new(std::io::sink()), false, false);
        let mut job = RunningPart::new(Path::new("."), &mut screen);
        let problem = job.command(Command::new("sh").args(["-c", "echo why; exit 1"])).unwrap_err();
        assert!(problem.contains("sh -c"), "{problem}");
        assert!(job.finish().1.contains("why\n"));
    }
}
