//! Placeholder.

mod async_fd;

pub use async_fd::async_fd;
