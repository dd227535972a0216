//! The command that candidates run here: it writes down, on the clock that all processes share, when it was alive, and
//! notices by a lock of the kernel when another one is.
//!
//! It is this test program itself, started again, because nothing else can be relied on to be installed and to read
//! `CLOCK_BOOTTIME`.

use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::time::{ClockId, clock_gettime};

use crate::support::{Running, Site};

/// Names the file that a worker writes to, and so makes a worker of this program.
pub(crate) const JOURNAL: &str = "WORKER_JOURNAL";
/// A worker that is forgotten ends by itself.
const LIFE_MAX: Duration = Duration::from_secs(90);

/// What to start.
pub(crate) fn command() -> [OsString; 4] {
    let this = env::current_exe().unwrap().into_os_string();
    [this, "worker::a_worker_notices_another_one".into(), "--exact".into(), "--nocapture".into()]
}

/// What a worker says when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) candidate: String,
    pub(crate) term: u64,
    pub(crate) pid: i32,
    pub(crate) boot_ns: u64,
    /// Whether no other worker was alive.
    pub(crate) alone: bool,
}

impl Start {
    /// Finds it in a line; the test runner may have printed something before it.
    pub(crate) fn parse(line: &str) -> Option<Self> {
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
pub(crate) struct Journal {
    lives: Vec<(Start, u64)>,
}

impl Journal {
    pub(crate) fn read(path: &Path) -> Self {
        let mut lives: Vec<(Start, u64)> = Vec::new();
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            if let Some(start) = Start::parse(line) {
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

    pub(crate) fn starts(&self) -> usize {
        self.lives.len()
    }

    /// Checks that no two lived at once and that terms grew. Returns the smallest gap between two.
    pub(crate) fn assert_disjoint(&self) -> Duration {
        for (start, _) in &self.lives {
            assert!(start.alone, "{start:?} found another worker alive: {:#?}", self.lives);
        }
        let gaps = self.lives.windows(2).map(|pair| {
            let ((before, last_seen), (after, _)) = (&pair[0], &pair[1]);
            assert!(after.boot_ns > *last_seen, "two workers at once: {pair:?}");
            assert!(after.term > before.term, "the term did not grow: {pair:?}");
            Duration::from_nanos(after.boot_ns - last_seen)
        });
        gaps.min().unwrap_or(Duration::MAX)
    }
}

/// What it does as a worker, until it is killed.
fn work(journal: &Path) {
    let start_ns = boot_ns();
    let lock = File::create(journal.with_extension("lock")).unwrap();
    let alone = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    let [candidate, term] = ["TENURE_CANDIDATE", "TENURE_TERM"].map(|name| env::var(name).unwrap());
    let pid = std::process::id();
    let mut journal = OpenOptions::new().append(true).create(true).open(journal).unwrap();
    let start = format!("worker-start {candidate} {term} {pid} {start_ns} {alone}\n");
    journal.write_all(start.as_bytes()).unwrap();
    // Nobody need listen.
    let _ = io::stdout().write_all(start.as_bytes()).and_then(|()| io::stdout().flush());
    while boot_ns() - start_ns < u64::try_from(LIFE_MAX.as_nanos()).unwrap() {
        journal.write_all(format!("{pid} {}\n", boot_ns()).as_bytes()).unwrap();
        // Waits because a life sign is due once a millisecond, and nothing else is.
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

#[test]
fn a_worker_notices_another_one() {
    if let Some(journal) = env::var_os(JOURNAL) {
        return work(Path::new(&journal));
    }
    let site = Site::new();
    let start = |term: &str| {
        let mut worker = Command::new(&command()[0]);
        worker.args(&command()[1..]).env(JOURNAL, site.path("journal"));
        let running = Running::start(worker.env("TENURE_CANDIDATE", "a").env("TENURE_TERM", term));
        let start = running.stdout().find("the start of a worker", Start::parse);
        (running, start)
    };
    let (_first, alone) = start("1");
    let (_second, beside) = start("2");
    assert!(alone.alone && !beside.alone, "{alone:?} {beside:?}");
    let journal = site.journal();
    assert!(std::panic::catch_unwind(move || journal.assert_disjoint()).is_err());
}
