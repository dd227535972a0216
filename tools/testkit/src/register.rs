//! Two registers that leaders write to, one of which checks the term.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, thread};

use rustix::fs::{FlockOperation, flock};

use crate::role;

/// Names the directory of the registers.
pub const REGISTERS: &str = "WRITER_REGISTERS";
/// A writer that is forgotten ends by itself.
const MAX_LIFE: Duration = Duration::from_secs(90);

/// The command that writes its term to both registers when it is let. The test program must have named [`write()`] as the
/// role `writer`.
#[must_use]
pub fn writer() -> Vec<OsString> {
    role::command("writer")
}

/// The registers, as a test sees them.
pub struct Registers {
    directory: PathBuf,
}

impl Registers {
    /// Two empty ones in this directory.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        std::fs::create_dir(&directory).unwrap();
        Self { directory }
    }

    /// Lets the writer of this candidate do what it had decided to do when it said that it was ready.
    pub fn let_write(&self, candidate: &str) {
        File::create(self.directory.join(candidate)).unwrap();
    }

    /// All terms that were ever written to the register that takes any, in order.
    #[must_use]
    pub fn unfenced(&self) -> Vec<u64> {
        terms(&self.directory.join("unfenced"))
    }

    /// All terms that were ever written to the register that checks them, in order.
    #[must_use]
    pub fn fenced(&self) -> Vec<u64> {
        terms(&self.directory.join("fenced"))
    }
}

/// What a writer does: it decides to write, and is then as slow as the test wants.
pub fn write() {
    let directory = PathBuf::from(env::var_os(REGISTERS).expect("a writer knows its registers"));
    let [candidate, term] = ["TENURE_CANDIDATE", "TENURE_TERM"].map(|name| env::var(name).unwrap());
    println!("\nready {candidate} {}", std::process::id());
    let may_write = directory.join(&candidate);
    while !may_write.exists() {
        // Waits because nothing else tells it, not even while it is stopped.
        thread::sleep(Duration::from_millis(1));
    }
    append(&directory.join("unfenced"), &term);
    let accepted = write_fenced(&directory.join("fenced"), &term);
    println!("\nwrote {candidate} {accepted}");
    // Waits because it is its supervisor that ends it.
    thread::sleep(MAX_LIFE);
}

/// Takes a term unless it has taken a higher one, as any resource can that keeps one number. Says whether it did.
fn write_fenced(register: &Path, term: &str) -> bool {
    let lock = File::create(register.with_extension("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let is_stale = terms(register).last().is_some_and(|&highest| term.parse::<u64>().unwrap() < highest);
    if !is_stale {
        append(register, term);
    }
    !is_stale
}

fn append(register: &Path, term: &str) {
    let mut register = OpenOptions::new().append(true).create(true).open(register).unwrap();
    register.write_all(format!("{term}\n").as_bytes()).unwrap();
}

fn terms(register: &Path) -> Vec<u64> {
    std::fs::read_to_string(register).unwrap_or_default().lines().map(|term| term.parse().unwrap()).collect()
}
