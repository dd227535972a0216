//! Hostile histories for the electors of tenure: simulation, model checking, and known mistakes put back in.

mod mistake;
pub mod model;

pub use mistake::{Mistake, ProcessMistake, StoreMistake, UnknownMistake};
