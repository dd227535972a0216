//! The parts of the `tenure` command, as a library so that its tests can reach them.

pub mod supervise;
