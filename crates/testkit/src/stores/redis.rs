//! One Redis server.

use std::any::Any;
use std::path::Path;

use super::{Abilities, Backend, StoreServer};
use crate::redis::{RedisOptions, RedisServer};
use crate::wall_clock::WallClock;

/// A server of its own for each test.
#[derive(Debug)]
pub struct Redis;

impl Backend for Redis {
    fn abilities(&self) -> Abilities {
        Abilities { sees_death: false, embedded: false }
    }

    fn start(&self, directory: &Path, wall_clock: &WallClock) -> Box<dyn StoreServer> {
        let options = RedisOptions::default().directory(&directory.join("redis")).wall_clock(wall_clock);
        Box::new(RedisServer::start_with(options))
    }
}

impl StoreServer for RedisServer {
    fn url(&self) -> String {
        self.url()
    }

    /// Lets the whole server stand still. What it is asked meanwhile, it does afterwards.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.pause())
    }
}
