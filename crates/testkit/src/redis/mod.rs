//! Redis and Valkey servers that tests start for themselves: one alone, some under sentinels, a cluster.

mod cluster;
mod options;
mod sentinels;
mod server;

pub use self::cluster::{Cluster, SlotMove};
pub use self::options::{Flavour, RedisOptions, TlsClients};
pub use self::sentinels::Sentinels;
pub use self::server::RedisServer;
