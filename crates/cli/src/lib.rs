//! The parts of the `tenure` command, as a library so that its tests can reach them.

pub mod args;
pub mod commands;
pub mod crash_helper;
pub mod crontab;
pub use tenure_core::duration;
pub mod exit;
pub mod job;
pub mod log;
pub mod message;
pub mod metrics;
pub mod options;
pub mod output;
pub mod repeats;
pub mod signals;
pub mod start;
pub mod stderr_writer;
pub mod stdout_writer;
pub mod supervise;
mod writer_thread;
