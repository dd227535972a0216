//! Hostile histories for the electors of tenure: simulation, model checking, and known mistakes put back in.

mod assumption;
mod chance;
mod clock;
mod fault;
mod gate;
mod invariants;
mod job;
mod kind;
mod mistake;
pub mod model;
mod options;
mod progress;
mod report;
mod run;
mod store;
mod sweep;
mod tally;
mod timeline;
mod words;
mod world;

pub use assumption::Assumption;
pub use fault::{Fault, UnknownFault};
pub use gate::{Trial, toothless};
pub use invariants::Violation;
pub use job::{Job, Walls};
pub use kind::Kind;
pub use mistake::{JobMistake, LedgerMistake, Mistake, ProcessMistake, StoreMistake, UnknownMistake};
pub use options::{Contender, Options, Style};
pub use progress::Progress;
pub use report::report;
pub use run::{Run, replay, run, shrink};
pub use sweep::{Sweep, Swept};
pub use tally::{Situation, Tally, grouped};
pub use timeline::Timeline;
