//! A place for one test: its own directory, its own store, and the processes it starts.

mod candidate;
mod lines;
mod process;

use std::ffi::{OsStr, OsString};
use std::io::{PipeWriter, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) use self::candidate::Candidate;
pub(crate) use self::lines::Lines;
pub(crate) use self::process::{Finished, Process, Running, Victim};
use crate::worker::{self, Journal, Start};

/// How long to wait for what should happen at once, or after one ttl, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(25);
/// Short enough to wait for an expiry in a test.
pub(crate) const TIMING: [&str; 6] = ["--ttl", "3s", "--renew", "500ms", "--grace", "300ms"];
/// The election of a test that needs only one.
pub(crate) const ELECTION: &str = "nightly";

/// A directory, a store in it, and what the commands of all its candidates print.
pub(crate) struct Site {
    pub(crate) words: Lines,
    words_in: PipeWriter,
    timing: &'static [&'static str],
    directory: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let (words, words_in) = pipe().unwrap();
        Self { words: Lines::of(words), words_in, timing: &TIMING, directory: tempfile::tempdir().unwrap() }
    }

    /// With a lease and a grace that no test can wait out.
    pub(crate) fn patient() -> Self {
        Self::with_timing(&["--ttl", "600s", "--renew", "10s", "--grace", "100s"])
    }

    pub(crate) fn with_timing(timing: &'static [&'static str]) -> Self {
        Self { timing, ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn store(&self) -> String {
        format!("sqlite:{}", self.path("tenure.db").display())
    }

    /// `tenure` with nothing but these arguments, and none of the settings of whoever runs the tests.
    pub(crate) fn bare<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(tenure());
        for setting in ["TENURE_STORE", "TENURE_NAMESPACE", "TENURE_LOG", "XDG_STATE_HOME"] {
            command.env_remove(setting);
        }
        command.env("HOME", self.path("home")).current_dir(self.directory.path()).stdin(Stdio::null()).args(args);
        command
    }

    /// `tenure` on the store of this site.
    pub(crate) fn tenure<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = self.bare(["--store", &self.store()]);
        command.args(args);
        command
    }

    /// Runs `tenure` on the store of this site to its end.
    pub(crate) fn finish<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Finished {
        Running::start(&mut self.tenure(args)).finish()
    }

    /// Runs `tenure` and reads what it prints as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let finished = self.finish(args);
        assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
        serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {finished:?}"))
    }

    /// A `tenure run` whose command is the worker.
    pub(crate) fn candidate(&self, id: &str) -> Candidate {
        self.candidate_with(id, &[], &[])
    }

    /// A `tenure run` whose command is `wrapper`, which is given the worker to start.
    pub(crate) fn candidate_with(&self, id: &str, options: &[&str], wrapper: &[&str]) -> Candidate {
        let command: Vec<OsString> = wrapper.iter().map(OsString::from).chain(worker::command()).collect();
        self.candidate_running(id, options, &command)
    }

    /// A `tenure run` of this very command. What the command prints is to be found in `words`.
    pub(crate) fn candidate_running<I: AsRef<OsStr>>(&self, id: &str, options: &[&str], run: &[I]) -> Candidate {
        Candidate::start(&mut self.candidate_command(id, options, run))
    }

    pub(crate) fn candidate_command<I: AsRef<OsStr>>(&self, id: &str, options: &[&str], run: &[I]) -> Command {
        let mut command = self.tenure(["run", ELECTION, "--json", "--id", id]);
        command.args(self.timing).args(options).arg("--").args(run);
        command.env(worker::JOURNAL, self.path("journal")).stdout(self.words_in.try_clone().unwrap());
        command
    }

    /// Waits for the next worker to start, whoever's it is.
    pub(crate) fn next_start(&self) -> Start {
        self.words.find("the start of a worker", Start::parse)
    }

    /// What the workers have written so far.
    pub(crate) fn journal(&self) -> Journal {
        Journal::read(&self.path("journal"))
    }
}

pub(crate) fn tenure() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tenure"))
}

/// A shell script as a command.
pub(crate) fn sh(script: &str) -> [&str; 3] {
    ["sh", "-c", script]
}
