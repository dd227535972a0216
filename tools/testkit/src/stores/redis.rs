//! Redis: one server that keeps what it has confirmed.

use std::any::Any;
use std::path::Path;
use std::rc::Rc;

use super::{Abilities, Backend, StoreEndpoint, StoreServer};
use crate::redis::{RedisCluster, RedisOptions, RedisServer, SentinelGroup, message_length};
use crate::wall_clock::FakeWallClock;

/// A server in the directory of the test.
#[derive(Debug)]
pub struct Redis;

impl Backend for Redis {
    fn abilities(&self) -> Abilities {
        Abilities { sees_death: false, embedded: false, trusts_wall_clock: true, by_session: false }
    }

    fn start(&self, directory: &Path, wall_clock: &FakeWallClock) -> Box<dyn StoreServer> {
        let options = RedisOptions::default().persistent().wall_clock(wall_clock);
        Box::new(RedisServer::start_with(options.directory(&directory.join("redis"))))
    }
}

impl StoreServer for RedisServer {
    fn url(&self) -> String {
        Self::url(self)
    }

    /// It stands still, and its connections stay.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.pause())
    }

    fn endpoint(&self) -> Option<StoreEndpoint> {
        let (address, url) = (self.address(), Self::url(self));
        Some(StoreEndpoint::new(address, &url, message_length))
    }
}

impl StoreServer for SentinelGroup {
    fn url(&self) -> String {
        Self::url(self)
    }

    /// The nodes stand still. If that lasts, the sentinels take them for dead.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.nodes().iter().map(RedisServer::pause).collect::<Vec<_>>())
    }
}

impl StoreServer for RedisCluster {
    fn url(&self) -> String {
        Self::url(self)
    }

    /// All nodes stand still.
    fn stall(&self) -> Box<dyn Any> {
        Box::new(self.nodes().iter().map(RedisServer::pause).collect::<Vec<_>>())
    }
}

/// A store that the test keeps a hold on.
impl<S: StoreServer + ?Sized> StoreServer for Rc<S> {
    fn url(&self) -> String {
        S::url(self)
    }

    fn stall(&self) -> Box<dyn Any> {
        S::stall(self)
    }

    fn endpoint(&self) -> Option<StoreEndpoint> {
        S::endpoint(self)
    }
}
