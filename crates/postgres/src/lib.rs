#![doc = include_str!("docs.md")]

#[macro_use]
mod log;

mod advisory;
mod certificates;
mod config;
mod connect;
mod driver;
mod endpoint;
mod environment;
mod error;
mod examine_hosts;
pub mod fencing;
mod hosts;
mod identifier;
mod known_servers;
mod lease;
mod parse;
mod passfile;
mod pubsub;
mod server;
mod settings;
mod tls;
mod value;

pub use self::advisory::AdvisoryStore;
pub use self::config::PostgresConfig;
pub use self::lease::{Migration, MigrationOutcome, PostgresStore};
