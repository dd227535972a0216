//! Where a store listens, and how to get there by another way.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::netns::Namespace;
use crate::proxy::{Framing, Proxy};

/// A port, and the store address that leads there.
#[derive(Debug, Clone)]
pub struct StoreEndpoint {
    address: SocketAddr,
    before: String,
    after: String,
    framing: Framing,
}

impl StoreEndpoint {
    /// Where a server listens that candidates find under this address, and how its messages are told apart.
    #[must_use]
    pub fn new(address: SocketAddr, url: &str, framing: Framing) -> Self {
        let written = address.to_string();
        let (before, after) = url.split_once(&written).expect("an address that names its own host and port");
        Self { address, before: before.to_owned(), after: after.to_owned(), framing }
    }

    /// A way to the server that the test can spoil.
    #[must_use]
    pub fn detour(&self) -> Detour {
        let proxy = Proxy::with_framing(self.address, self.framing).unwrap();
        Detour { url: self.url_at(proxy.address()), proxy, namespace: None }
    }

    /// A way from another host, whose cable the test can pull.
    #[must_use]
    pub fn detour_from_elsewhere(&self) -> Detour {
        let namespace = Namespace::new().unwrap();
        let proxy = Proxy::at(namespace.outside(), self.address).unwrap();
        Detour { url: self.url_at(proxy.address()), proxy, namespace: Some(namespace) }
    }

    /// What candidates write who are to find it at this address.
    #[must_use]
    pub fn url_at(&self, address: SocketAddr) -> String {
        format!("{}{address}{}", self.before, self.after)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A way of its own to a store, for a candidate that is to be cut off alone.
#[derive(Debug)]
pub struct Detour {
    /// What the candidate writes to go this way.
    pub url: String,
    /// What stands between.
    pub proxy: Proxy,
    namespace: Option<Namespace>,
}

impl Detour {
    /// A command that runs where this way begins.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        self.namespace.as_ref().map_or_else(|| Command::new(program), |namespace| namespace.command(program))
    }

    /// The other host, where the way begins.
    #[must_use]
    pub fn elsewhere(&self) -> &Namespace {
        self.namespace.as_ref().expect("a way from another host")
    }
}
