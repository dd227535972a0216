#![doc = include_str!("docs.md")]

#[macro_use]
mod log;

mod advisory;
mod bulletin;
mod certificates;
mod config;
mod connect;
mod driver;
mod endpoint;
mod error;
pub mod fencing;
mod hosts;
mod identifier;
mod known;
mod lease;
mod parse;
mod passfile;
mod roll_call;
mod server;
mod settings;
mod surroundings;
mod tls;
mod value;

pub use self::advisory::AdvisoryStore;
pub use self::config::PostgresConfig;
pub use self::lease::{Migration, PostgresStore};
