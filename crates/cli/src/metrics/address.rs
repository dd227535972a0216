//! The address at which metrics are served.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen on. Without a host it can only be reached from this machine: metrics reveal to strangers what
/// runs here, so access from elsewhere must be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress(pub SocketAddr);

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
        let on_loopback = || port.parse().ok().map(|port| SocketAddr::new(LOOPBACK, port));
        text.parse().ok().or_else(on_loopback).map(Self).ok_or_else(|| {
            "write HOST:PORT with an IP address, such as 127.0.0.1:9095 or [::1]:9095, or a port alone, such as 9095"
                .to_owned()
        })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        text.parse::<ListenAddress>().ok().map(|address| address.to_string())
    }

    #[test]
    fn a_port_alone_is_for_this_machine_only() {
        for text in ["9095", ":9095", "localhost:9095", "127.0.0.1:9095"] {
            assert_eq!(read(text).as_deref(), Some("127.0.0.1:9095"), "{text}");
        }
        assert_eq!(read(":0").as_deref(), Some("127.0.0.1:0"));
    }

    #[test]
    fn other_addresses_have_to_be_given() {
        for text in ["0.0.0.0:9095", "[::]:9095", "[::1]:0", "192.0.2.7:1"] {
            assert_eq!(read(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", ":", "65536", "-1", "127.0.0.1", "127.0.0.1:", "example.org:9095", "::1:9095:x", "9095 "] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
