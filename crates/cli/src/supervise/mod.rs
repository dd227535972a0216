//! Running a command that ends before its leadership does, whatever happens to the process that leads.
//!
//! `tenure` is never the direct parent of the command. Between them stands the guard, a small process of the same
//! program in a session of its own:
//!
//! ```diagram
//!  tenure (campaigns, renews) ──trust──▶ guard (stop_at, kill_at, timerfd) ──signals──▶ command and its whole tree
//!         ◀──reports── starting, started, ended                 └ holds the life line
//! ```
//!
//! The guard alone enforces the schedule. It is told of every extension of trust and stops the command by itself when
//! none comes, so that a `tenure` that is stopped, swapped out or killed cannot leave work running. The other way round,
//! when the guard is killed, the kernel kills the command with it, and [`Supervisor`] ends what the command left behind.
//!
//! When `tenure` dies without a word, the guard also releases the lease, once everything that ran under it is dead.
//!
//! | file | what it holds |
//! |---|---|
//! | [`message`] | what the two sides tell each other |
//! | `encoding` | how instants and strings are written there |
//! | `packet` | how it travels, with open files attached |
//! | [`cgroup`] | the control group of a guard's commands, where there can be one |
//! | [`procfs`] | whether `/proc` is ours |
//! | [`init`] | a `tenure` of its own, where there are other children |
//! | `registry` | the guards of this process, which a clean-up must spare |
//! | [`tree`] | finding, signalling and reaping descendants |
//! | `live_work` | what is alive of this process and all that its guards run |
//! | [`guard`] | the guard process |
//! | `supervisor` | the side of `tenure` |

pub mod cgroup;
pub mod clock;
mod encoding;
#[cfg(test)]
mod fuzz;
pub mod guard;
pub mod init;
mod live_work;
pub mod message;
mod packet;
pub mod procfs;
mod registry;
mod supervisor;
pub mod tree;

pub use message::{CommandExit, CommandSpec, GuardReport, LeaseToRelease, SpawnFailure, TrustDeadlines};
pub use supervisor::Supervisor;
