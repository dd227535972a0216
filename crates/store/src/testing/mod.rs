//! For tests of your own failover: a clock that you move by hand, and a store that loses replies.

mod fault;
mod faulty_store;
mod virtual_clock;

pub use fault::{Fault, Operation};
pub use faulty_store::FaultyStore;
pub(crate) use virtual_clock::Deadline;
pub use virtual_clock::VirtualClock;
