#![doc = include_str!("docs.md")]

mod config;
mod connect;
mod error;
mod identifier;
mod lease;
mod parse;
mod tls;
mod value;

pub use self::config::PostgresConfig;
pub(crate) use self::identifier::Identifier;
pub use self::lease::{Migration, PostgresStore};
