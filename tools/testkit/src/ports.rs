//! Ports for servers that tests start.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

/// A port of the loopback interface on which nobody listens now. No two calls of one process soon give the same one, but
/// another process may be faster: whoever uses it has to be ready to ask again.
///
/// It is none of those that the kernel gives to connections. There a client that connects to a server which is down can
/// end up connected to itself, and the server cannot come back.
#[must_use]
pub fn free_port() -> u16 {
    static CALLS: AtomicU16 = AtomicU16::new(0);
    let count = RANGE.end - RANGE.start;
    // Processes begin far from each other.
    let first = std::process::id().wrapping_mul(331) % u32::from(count);
    let candidates = (0..count).map(|_| {
        let call = u32::from(CALLS.fetch_add(1, Ordering::Relaxed));
        RANGE.start + u16::try_from((first + call) % u32::from(count)).unwrap()
    });
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    candidates.into_iter().find(is_free).expect("one of some thousand ports is free")
}

/// Below what Linux gives to connections, and without the usual port of any store.
const RANGE: Range<u16> = 18_000..26_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_different() {
        let first = free_port();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).unwrap();
        let second = free_port();
        assert_ne!(first, second);
        assert!(RANGE.contains(&first) && RANGE.contains(&second));
        drop(listener);
    }
}
