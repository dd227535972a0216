//! The only unsafe code of `tenure`.
//!
//! Everything else in the workspace forbids `unsafe`. Nine things cannot be had without it, because the safe interfaces
//! to the kernel and to SQLite stop short of them, so they live here, each in a file of its own that is small enough to be read in
//! full:
//!
//! - [`ForkMarker`]: noticing that one is the forked copy of a leader, in about a nanosecond;
//! - [`die_with_parent`]: a child that the kernel kills when the process that started it ends, and
//!   [`signal_with_parent`], which sends another signal then;
//! - [`join_control_group`]: a child that is in a control group before it runs;
//! - [`outlive_signals`]: a process that signals to its group do not end, and whose children start with a clean slate;
//! - [`async_fd`]: waiting for a descriptor on the async runtime;
//! - [`keep_descriptors_from_children`]: children that inherit standard input, output and error, and nothing else;
//! - [`run_before_others`]: a thread that a busy machine does not keep waiting;
//! - `was_closed_at_start`: standard streams that were closed before the runtime replaced them (feature `start`);
//! - `sqlite::has_moved`: whether a database is still at its path (feature `sqlite`).

mod async_fd;
mod descriptors;
mod fork;
mod priority;
mod signals;
mod spawn;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "start")]
mod start;

pub use async_fd::async_fd;
pub use descriptors::keep_descriptors_from_children;
pub use fork::ForkMarker;
pub use priority::run_before_others;
pub use signals::{is_ignored, outlive_signals, unblock_signals};
pub use spawn::{die_with_parent, join_control_group, signal_with_parent};
#[cfg(feature = "start")]
pub use start::{StandardStream, was_closed_at_start};
