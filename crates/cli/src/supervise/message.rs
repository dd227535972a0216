//! What `tenure` and its guard tell each other.

use std::ffi::OsString;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::crash::{OrphanLease, StoreAccess};
use tenure_core::Instant;

use super::encoding::{nanos, os_option, os_pairs, os_string, os_strings};

/// Until when the command may run, on [`clock`](super::clock).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustDeadlines {
    /// From here on the command is asked to end (SIGTERM).
    #[serde(with = "nanos")]
    pub stop_at: Instant,
    /// From here on it is ended (SIGKILL).
    #[serde(with = "nanos")]
    pub kill_at: Instant,
}

/// A command to run, and under which terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The program, looked up in `PATH` when it has no slash.
    #[serde(with = "os_string")]
    pub program: OsString,
    /// Its arguments.
    #[serde(with = "os_strings")]
    pub args: Vec<OsString>,
    /// Variables to set, on top of the environment that the guard was launched with.
    #[serde(with = "os_pairs")]
    pub env_set: Vec<(OsString, OsString)>,
    /// Variables to remove from it.
    #[serde(with = "os_strings")]
    pub env_remove: Vec<OsString>,
    /// Where it runs, if not where the guard was launched. A program with a slash that is not absolute is meant from there.
    #[serde(with = "os_option")]
    pub directory: Option<OsString>,
    /// How long what the command leaves behind may take to end, once the command itself has ended.
    pub grace: Duration,
    /// Until when the command may run, to begin with.
    pub trust: TrustDeadlines,
}

/// The lease that commands run under, for the guard to release when `tenure` dies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseToRelease {
    /// The lease.
    pub held: OrphanLease,
    /// How long it lives at most.
    pub ttl: Duration,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Why a command could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SpawnFailure {
    /// There is no such program.
    NotFound,
    /// There is, but it cannot be executed.
    NotExecutable,
    /// The trust it was to run under had already ended.
    TrustEnded,
    /// The system gives no process, memory or file descriptor now.
    NoResources,
    /// Anything else.
    Other,
}

/// What became of the command, or of the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GuardReport {
    /// The command is about to be started: from here on it may have begun, whatever is reported next. A guard that died
    /// without saying this has begun nothing.
    Starting,
    /// The command runs.
    Started {
        /// The process id of its first process, which is also its process group.
        pid: u32,
    },
    /// The command was not started; nothing runs.
    SpawnFailed {
        /// The kind of failure, for an exit code.
        kind: SpawnFailure,
        /// The failure in words, for a person.
        message: String,
    },
    /// The command ended by itself, like this, and every one of its descendants is dead, too.
    Ended(CommandExit),
    /// The same, but the guard had begun to stop it: it was told to, or trust ran out.
    Stopped(CommandExit),
    /// This process of the command was killed, or has ended, and is still there: a tracer holds on to it, or the kernel.
    /// The end is reported later.
    Held {
        /// Its id.
        pid: u32,
        /// Whether it is dead, so that it cannot do anything any more and is not waited for. Otherwise it is.
        dead: bool,
    },
    /// The guard has taken in an extension of trust, and so is there to act on it. Only the supervisor hears this.
    Heard,
    /// The guard died, and everything it guarded is dead. Only the supervisor says this, never the guard.
    #[serde(skip)]
    GuardDied,
}

/// What `tenure` tells its guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GuardOrder {
    /// The first order: comes with the standard input for commands, both ends of the pipe of
    /// [`LiveWork`](super::live_work::LiveWork) and, perhaps, with the life line.
    Hold,
    /// How to open the store, should `tenure` die.
    Store(StoreAccess),
    /// What to release then: this, or nothing.
    Lease(Option<LeaseToRelease>),
    /// `tenure` takes its leave: that it is gone after this is no crash.
    Goodbye,
    /// Start this, if trust lasts.
    Start(CommandSpec),
    /// Go by this trust from now on.
    Trust(TrustDeadlines),
    /// Ask the command to end now, and end it at `kill_at`.
    Terminate {
        #[serde(with = "nanos")]
        kill_at: Instant,
    },
    /// Send this signal to the command's process group.
    Signal(i32),
}
