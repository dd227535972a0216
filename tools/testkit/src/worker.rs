//! The command that candidates run here: it writes down, on the clock that all processes share, when it was alive, and
//! notices by a lock of the kernel when another one is.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::bound::boot_ns;
use crate::role;

/// Names the file that a worker writes to.
pub const JOURNAL: &str = "WORKER_JOURNAL";
/// A worker that is forgotten ends by itself.
const MAX_LIFE: Duration = Duration::from_secs(90);

/// What to start. The test program must have named [`work`] as the role `worker`.
#[must_use]
pub fn command() -> Vec<OsString> {
    role::command("worker")
}

/// What a worker says when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStart {
    /// Whose command it is.
    pub candidate: String,
    /// The term that it was given.
    pub term: u64,
    /// Its process id.
    pub pid: i32,
    /// When it started.
    pub boot_ns: u64,
    /// Whether no other worker was alive.
    pub alone: bool,
}

impl WorkerStart {
    /// Finds it in a line; the test runner may have printed something before it.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (_, words) = line.split_once("worker-start ")?;
        let words: Vec<&str> = words.split(' ').collect();
        let [candidate, term, pid, boot_ns, alone] = words[..] else { return None };
        Some(Self {
            candidate: candidate.to_owned(),
            term: term.parse().ok()?,
            pid: pid.parse().ok()?,
            boot_ns: boot_ns.parse().ok()?,
            alone: alone.parse().ok()?,
        })
    }
}

/// When each worker was alive.
#[derive(Debug)]
pub struct WorkerJournal {
    lives: Vec<(WorkerStart, u64)>,
}

impl WorkerJournal {
    /// Reads what was written so far.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let mut lives: Vec<(WorkerStart, u64)> = Vec::new();
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            if let Some(start) = WorkerStart::parse(line) {
                let boot_ns = start.boot_ns;
                lives.push((start, boot_ns));
            } else if let Some((pid, boot_ns)) = line.split_once(' ') {
                let pid: i32 = pid.parse().unwrap();
                let life = lives.iter_mut().rev().find(|(start, _)| start.pid == pid).unwrap();
                life.1 = life.1.max(boot_ns.parse().unwrap());
            }
        }
        Self { lives }
    }

    /// How many have started.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.lives.len()
    }

    /// When the worker with this process id was alive for the last time.
    #[must_use]
    pub fn last_seen_ns(&self, pid: i32) -> u64 {
        self.lives.iter().rev().find(|(start, _)| start.pid == pid).expect("a worker that has started").1
    }

    /// For how long two lived at once, at most: where that may happen, a test says for how long.
    #[must_use]
    pub fn longest_overlap(&self) -> Duration {
        let overlaps = self.lives.windows(2).map(|pair| pair[0].1.saturating_sub(pair[1].0.boot_ns));
        Duration::from_nanos(overlaps.max().unwrap_or(0))
    }

    /// Checks that no two lived at once and that terms grew. Returns the smallest gap between two.
    pub fn assert_disjoint(&self) -> Duration {
        self.assert_growing();
        for (start, _) in &self.lives {
            assert!(start.alone, "{start:?} found another worker alive: {:#?}", self.lives);
        }
        let gaps = self.lives.windows(2).map(|pair| {
            let ((_, last_seen), (after, _)) = (&pair[0], &pair[1]);
            assert!(after.boot_ns > *last_seen, "two workers at once: {pair:?}");
            Duration::from_nanos(after.boot_ns - last_seen)
        });
        gaps.min().unwrap_or(Duration::MAX)
    }

    /// Checks that each had a higher term than the one before it.
    pub fn assert_growing(&self) {
        for pair in self.lives.windows(2) {
            assert!(pair[1].0.term > pair[0].0.term, "the term did not grow: {pair:?}");
        }
    }
}

/// What a worker does, until it is killed.
pub fn work() {
    let start_ns = boot_ns();
    let journal = PathBuf::from(env::var_os(JOURNAL).expect("a worker knows its journal"));
    let lock = File::create(journal.with_extension("lock")).unwrap();
    let alone = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    let [candidate, term] = ["TENURE_CANDIDATE", "TENURE_TERM"].map(|name| env::var(name).unwrap());
    let pid = std::process::id();
    let mut journal = OpenOptions::new().append(true).create(true).open(journal).unwrap();
    let start = format!("worker-start {candidate} {term} {pid} {start_ns} {alone}\n");
    journal.write_all(start.as_bytes()).unwrap();
    // Nobody need listen.
    let _ = io::stdout().write_all(start.as_bytes()).and_then(|()| io::stdout().flush());
    while boot_ns() - start_ns < u64::try_from(MAX_LIFE.as_nanos()).unwrap() {
        journal.write_all(format!("{pid} {}\n", boot_ns()).as_bytes()).unwrap();
        // Waits because a life sign is due once a millisecond, and nothing else is.
        thread::sleep(Duration::from_millis(1));
    }
}
