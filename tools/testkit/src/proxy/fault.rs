//! What can happen to bytes on their way, and which way that is.

use std::time::Duration;

/// One of the two ways through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client, which connected to the proxy, to the upstream server.
    Requests,
    /// From the upstream server back to the client.
    Replies,
}

impl Direction {
    /// Both ways, for what befalls a whole link.
    pub const BOTH: [Self; 2] = [Self::Requests, Self::Replies];
}

/// Where bytes are that a framing looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Which way they go.
    pub direction: Direction,
    /// No message has gone this way before on the same connection.
    pub is_first: bool,
}

/// What happens to a chunk: what one read brought, or one frame if the proxy knows the protocol's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyFault {
    /// It arrives this much later. Chunks keep their order, and are all late by the same time, not one after another.
    Delay(Duration),
    /// It waits, and what comes after it too, until the direction is [cleared](super::Proxy::clear). So a test says
    /// what has to happen first, where a delay could only hope that it has. A close waits as well.
    Hold,
    /// It is lost, and the connection stays open. A close is lost as well, so that the other end does not learn of it.
    Swallow,
    /// It arrives twice. This makes sense only where a chunk is a whole message, so give the proxy a framing.
    Duplicate,
    /// What came before it on the same connection arrives once more in its place, as when a message was doubled and the
    /// one after it is taken for nobody's. The first chunk of a connection passes. This, too, needs a framing.
    Repeat,
    /// Its first bytes arrive, as many as are said here, and then the connection is reset at both ends.
    Truncate(usize),
}
