//! Stores that tests start for themselves, and stop.
//!
//! A further store is a file here, and a line in [`fault_cases!`](crate::fault_cases). What it needs to be installed goes
//! into the packages of `cargo xtask test`.

mod endpoint;
mod postgres;
mod redis;
mod sqlite;

use std::any::Any;
use std::path::Path;

pub use self::endpoint::{Detour, StoreEndpoint};
pub use self::postgres::{Postgres, PostgresAdvisory};
pub use self::redis::Redis;
pub use self::sqlite::Sqlite;
use crate::wall_clock::FakeWallClock;

/// A kind of store.
pub trait Backend: Sync {
    /// What sets it apart from others, as far as faults show it.
    fn abilities(&self) -> Abilities;

    /// Starts an empty one that keeps all it has in this directory, listens on free ports of the loopback interface, and
    /// ends when it is dropped. Its processes, if it has any, see this wall clock.
    fn start(&self, directory: &Path, wall_clock: &FakeWallClock) -> Box<dyn StoreServer>;
}

/// What sets a store apart from others.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// A leader that is killed is missed at once, and not when its lease has run out.
    pub sees_death: bool,
    /// It has no process of its own: its wall clock is that of the candidates.
    pub embedded: bool,
    /// Its leases run out by its wall clock, so that one which is set forward ends them early, as its documentation says.
    pub trusts_wall_clock: bool,
    /// Leases live and end with a connection, and nothing is written down, as its documentation says.
    pub by_session: bool,
}

/// A store that runs. It ends when it is dropped.
pub trait StoreServer {
    /// Where candidates find it.
    fn url(&self) -> String;

    /// Lets it answer nothing that changes a lease until what is returned is dropped. It forgets nothing meanwhile.
    fn stall(&self) -> Box<dyn Any>;

    /// Where it listens; none unless it is reached over a network.
    fn endpoint(&self) -> Option<StoreEndpoint> {
        None
    }
}
