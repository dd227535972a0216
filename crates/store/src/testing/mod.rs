//! For tests of your own failover: a clock you move by hand, and a store whose replies go astray.

mod fault;
mod faulty_store;
mod virtual_clock;

pub use fault::{Fault, Operation};
pub use faulty_store::FaultyStore;
pub(crate) use virtual_clock::Deadline;
pub use virtual_clock::VirtualClock;
