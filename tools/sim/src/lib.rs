//! Hostile histories for the electors of tenure: simulation, model checking, and known mistakes put back in.

mod assumption;
mod clock;
mod fault;
mod gate;
mod invariants;
mod job;
mod kind;
mod mail;
mod mistake;
pub mod model;
mod options;
mod progress;
mod report;
mod rng;
mod run;
mod store;
mod sweep;
mod tally;
mod timeline;
mod words;
mod world;

pub use assumption::Assumption;
pub use fault::{FaultClass, UnknownFaultClass};
pub use gate::{Trial, toothless};
pub use invariants::InvariantViolation;
pub use job::{SimJob, WallClockSpread};
pub use kind::StoreKind;
pub use mail::{SimMail, SimSender};
pub use mistake::{
    JobMistake, LedgerMistake, MailboxMistake, MessageMistake, Mistake, ProcessMistake, StoreMistake, UnknownMistake,
};
pub use options::{SimCandidate, SimOptions, WorkStyle};
pub use progress::ProgressLine;
pub use report::report;
pub use run::{SimRun, replay, run, shrink};
pub use sweep::{Sweep, Swept};
pub use tally::{Situation, Tally, grouped};
pub use timeline::Timeline;
