//! For tests of your own failover: a clock you move by hand, and a store whose replies go astray.

mod virtual_clock;

pub use virtual_clock::VirtualClock;
