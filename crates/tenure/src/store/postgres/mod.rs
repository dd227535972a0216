#![doc = include_str!("docs.md")]

mod advisory;
mod config;
mod connect;
mod error;
mod identifier;
mod lease;
mod parse;
mod tls;
mod value;

pub use self::advisory::AdvisoryStore;
pub use self::config::PostgresConfig;
pub use self::lease::{Migration, PostgresStore};
