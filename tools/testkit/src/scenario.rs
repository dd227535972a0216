//! A store for one test, and the candidates on it.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{PipeWriter, pipe};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_history::{History, Limits};

use crate::PATIENCE;
use crate::candidate::{self, CandidateProcess};
use crate::lines::{Lines, PrintedLines};
use crate::process::ProcessHandle;
use crate::running::{FinishedProcess, RunningProcess};
use crate::running_store::RunningStore;
use crate::stores::{Backend, Detour};
use crate::test_timing::TestTiming;
use crate::worker::{self, WorkerJournal, WorkerStart};

/// What `tenure` reads from the environment.
const SETTINGS: [&str; 8] = [
    "TENURE_STORE",
    "TENURE_NAMESPACE",
    "TENURE_LOG",
    "XDG_STATE_HOME",
    "MUTEX_REDIS_HOST",
    "MUTEX_REDIS_SENTINEL_HOST",
    "REDIS_HOST",
    "REDIS_SENTINEL_HOST",
];

/// The election of a test that needs only one.
pub const ELECTION: &str = "nightly";

/// A store with candidates: their events, and what their commands print.
pub struct Scenario {
    /// What the commands print.
    pub words: Lines,
    /// The store of all candidates.
    pub store: RunningStore,
    words_in: PipeWriter,
    program: PathBuf,
    timing: TestTiming,
    events: RefCell<Vec<PrintedLines>>,
    /// Whether the store frees at once what a killed process held.
    frees_at_death: bool,
}

impl Scenario {
    /// A scenario on a store of this kind, for candidates of this `tenure`.
    #[must_use]
    pub fn new(backend: &dyn Backend, program: &Path) -> Self {
        let mut scenario = Self::at(RunningStore::on(backend), program);
        scenario.frees_at_death = backend.abilities().by_session;
        scenario
    }

    /// A scenario on this store.
    #[must_use]
    pub fn at(store: RunningStore, program: &Path) -> Self {
        let (words, words_in) = pipe().unwrap();
        Self {
            words: Lines::of(words),
            store,
            words_in,
            program: program.to_owned(),
            timing: TestTiming::SHORT,
            events: RefCell::default(),
            frees_at_death: false,
        }
    }

    /// With leases of these durations.
    #[must_use]
    pub fn with_timing(mut self, timing: TestTiming) -> Self {
        self.timing = timing;
        self
    }

    /// The durations of all candidates.
    #[must_use]
    pub fn timing(&self) -> TestTiming {
        self.timing
    }

    /// A file of this name, which no other test has.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.store.path(name)
    }

    /// A copy of a program beside the files of this scenario, for users who may not see where it was built.
    #[must_use]
    pub fn copy_of(&self, program: &Path) -> PathBuf {
        let copy = self.path(&program.file_name().unwrap().to_string_lossy());
        // By another process: one that this process forks meanwhile would hold the copy open for writing.
        assert!(Command::new("cp").args([program, &copy]).status().unwrap().success());
        copy
    }

    /// Lets other users run candidates here.
    #[must_use]
    pub fn open_to_everybody(mut self) -> Self {
        fs::set_permissions(self.path(""), fs::Permissions::from_mode(0o777)).unwrap();
        self.program = self.copy_of(&self.program);
        self
    }

    /// Where candidates find the store.
    #[must_use]
    pub fn store(&self) -> String {
        self.store.url()
    }

    /// `tenure` with nothing but these arguments, and none of the settings of whoever runs the tests.
    pub fn bare<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        self.dressed(Command::new(&self.program), args)
    }

    fn dressed<I: AsRef<OsStr>>(&self, mut command: Command, args: impl IntoIterator<Item = I>) -> Command {
        for setting in SETTINGS {
            command.env_remove(setting);
        }
        command.env("HOME", self.path("home")).current_dir(self.path("")).stdin(Stdio::null()).args(args);
        command
    }

    /// `tenure` on the store of this scenario.
    pub fn tenure<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = self.bare(["--store", &self.store()]);
        command.args(args);
        command
    }

    /// Runs `tenure` on the store of this scenario to its end.
    pub fn finish<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> FinishedProcess {
        RunningProcess::start(&mut self.tenure(args)).finish()
    }

    /// Runs `tenure` and reads what it prints as JSON.
    #[must_use]
    pub fn json(&self, args: &[&str]) -> Value {
        let finished = self.finish(args);
        assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
        serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {finished:?}"))
    }

    /// What `tenure status` says of the election.
    #[must_use]
    pub fn status(&self) -> Value {
        let args = ["status", ELECTION, "--json"];
        let finished = self.finish(args);
        if finished.code == Some(69) && finished.stderr.contains("no such file") {
            // The first candidate has not made it yet.
            return Value::Null;
        }
        assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
        let status = serde_json::from_str::<Value>(&finished.stdout);
        status.unwrap_or_else(|error| panic!("{args:?}: {error}: {finished:?}"))[0].take()
    }

    /// A `tenure elect`.
    #[must_use]
    pub fn elect(&self, id: &str) -> CandidateProcess {
        self.elect_with(id, ELECTION, &[])
    }

    /// A `tenure elect` in this election, with these options.
    #[must_use]
    pub fn elect_with(&self, id: &str, election: &str, options: &[&str]) -> CandidateProcess {
        let mut command = self.tenure(["elect", election, "--id", id]);
        self.listened_to(CandidateProcess::elect(command.args(self.timing.options()).args(options)))
    }

    /// A `tenure run` whose command is the worker.
    #[must_use]
    pub fn candidate(&self, id: &str) -> CandidateProcess {
        self.candidate_with(id, &[], &[])
    }

    /// A `tenure run` whose command is `wrapper`, which is given the worker to start.
    #[must_use]
    pub fn candidate_with(&self, id: &str, options: &[&str], wrapper: &[&str]) -> CandidateProcess {
        let command: Vec<OsString> = wrapper.iter().map(OsString::from).chain(worker::command()).collect();
        self.candidate_running(id, options, &command)
    }

    /// A `tenure run` whose command is the worker, and that takes this way to the store.
    #[must_use]
    pub fn candidate_by(&self, detour: &Detour, id: &str) -> CandidateProcess {
        let command = self.dressed(detour.command(&self.program), ["--store", &detour.url]);
        self.start(&mut self.running(command, id, &[], &worker::command()))
    }

    /// A `tenure run` of this very command. What the command prints is to be found in `words`.
    #[must_use]
    pub fn candidate_running<I: AsRef<OsStr>>(&self, id: &str, options: &[&str], run: &[I]) -> CandidateProcess {
        self.start(&mut self.candidate_command(id, options, run))
    }

    /// The same, not started yet.
    pub fn candidate_command<I: AsRef<OsStr>>(&self, id: &str, options: &[&str], run: &[I]) -> Command {
        self.running(self.tenure::<&str>([]), id, options, run)
    }

    /// The same, as `nohup` starts it: with a SIGHUP that is ignored.
    pub fn candidate_without_hang_up<I: AsRef<OsStr>>(&self, id: &str, run: &[I]) -> Command {
        let mut command = Command::new("env");
        command.arg("--ignore-signal=HUP").arg(&self.program);
        let command = self.dressed(command, ["--store", &self.store()]);
        self.running(command, id, &[], run)
    }

    fn running<I: AsRef<OsStr>>(&self, mut command: Command, id: &str, options: &[&str], run: &[I]) -> Command {
        command.args(["run", ELECTION, "--json", "--renewals", "--id", id]);
        command.args(self.timing.options()).args(options).arg("--").args(run);
        command.env(worker::JOURNAL, self.path("journal")).stdout(self.words_in.try_clone().unwrap());
        command
    }

    /// Starts a candidate.
    #[must_use]
    pub fn start(&self, command: &mut Command) -> CandidateProcess {
        self.listened_to(CandidateProcess::run(command))
    }

    /// Waits for the next worker to start, whoever's it is.
    pub fn next_start(&self) -> WorkerStart {
        self.words.find("the start of a worker", WorkerStart::parse)
    }

    /// What the workers have written so far.
    #[must_use]
    pub fn journal(&self) -> WorkerJournal {
        WorkerJournal::read(&self.path("journal"))
    }

    /// All events that its candidates have told so far, each candidate's in order.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let records = self.events.borrow();
        records.iter().flat_map(PrintedLines::lines).filter_map(|line| candidate::parse(&line)).collect()
    }

    /// Checks what holds whatever has happened here: no two workers at once, no two leaders by what they told, and terms
    /// that grow. Returns the smallest gap between two workers.
    pub fn judge(&self) -> Duration {
        self.judge_events();
        self.journal().assert_disjoint()
    }

    /// Checks the same after a leader was killed and the next one's work has started, with which the dead one's has ended. A
    /// store that frees at once what a killed process held gives its guard a moment for that, as its documentation says; on a
    /// busy machine it may take longer.
    pub fn judge_crash(&self, work: &[&ProcessHandle]) {
        if !self.frees_at_death {
            assert!(work.iter().all(|process| process.is_dead()), "the work of a killed leader goes on");
            self.judge();
            return;
        }
        work.iter().for_each(|process| process.await_end("the work of a killed leader"));
        self.judge_events();
        self.journal().assert_growing();
    }

    /// Checks that there were no two leaders at once, by what they told.
    fn judge_events(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let lines = self.events().into_iter().map(|event| event.to_string());
            let verdict = History::parse(lines).verdict(&Limits::default());
            if verdict.is_good() {
                return;
            }
            assert!(Instant::now() < deadline, "{verdict}");
            // Waits because what one process said first may be read after what another one said later.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The processes that are left of all candidates of this scenario, their guards and their commands.
    #[must_use]
    pub fn survivors(&self) -> Vec<i32> {
        let journal = self.path("journal");
        let is_ours = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable.ends_with(journal.as_os_str().as_bytes()))
        };
        let processes =
            std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        processes.filter(is_ours).collect()
    }

    fn listened_to(&self, candidate: CandidateProcess) -> CandidateProcess {
        self.events.borrow_mut().push(candidate.record());
        candidate
    }
}

impl Drop for Scenario {
    /// Shows what every candidate told if the test fails: mostly that is where the cause can be read.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for record in self.events.borrow().iter() {
                eprintln!("a candidate told:\n  {}", record.lines().join("\n  "));
            }
        }
    }
}

/// A shell script as a command.
#[must_use]
pub fn sh(script: &str) -> [&str; 3] {
    ["sh", "-c", script]
}
