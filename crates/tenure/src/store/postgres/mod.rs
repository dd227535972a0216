#![doc = include_str!("docs.md")]

mod advisory;
mod bulletin;
mod certificates;
mod config;
mod connect;
mod driver;
mod error;
mod hosts;
mod identifier;
mod lease;
mod parse;
mod passfile;
mod server;
mod settings;
mod surroundings;
mod tls;
mod value;

pub use self::advisory::AdvisoryStore;
pub use self::config::PostgresConfig;
pub(crate) use self::identifier::Identifier;
pub use self::lease::{Migration, PostgresStore};
