//! Redis and Valkey servers that tests start for themselves: one alone, some under sentinels, a cluster.

mod cluster;
mod framing;
mod options;
mod sentinels;
mod server;

pub use self::cluster::{RedisCluster, SlotMove};
pub use self::framing::message_length;
pub use self::options::{Flavour, RedisOptions};
pub use self::sentinels::SentinelGroup;
pub use self::server::RedisServer;
pub use crate::certificates::TlsClients;
