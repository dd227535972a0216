#![doc = include_str!("docs.md")]

#[macro_use]
mod log;

mod address;
mod advisory;
mod config;
mod connect;
mod endpoint;
mod error;
mod examine_hosts;
pub mod fencing;
mod identifier;
mod known_servers;
mod lease;
mod pubsub;
mod value;

pub use self::advisory::AdvisoryStore;
pub use self::config::PostgresConfig;
pub use self::lease::{Migration, MigrationOutcome, PostgresStore};
