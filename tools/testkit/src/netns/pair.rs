//! Addresses for the two ends of a link, unlike those of any other link on this machine.

use std::net::Ipv4Addr;

use super::ip::{NetnsError, ip};

/// Two neighbouring addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressPair(u32);

impl AddressPair {
    /// Finds a pair that no other namespace has. The kernel decides: only one route to an address can be added.
    pub(super) fn claim(link: &str, number: u32) -> Result<Self, NetnsError> {
        // Different processes begin at different places, so that most find a free pair at once.
        let start = std::process::id().wrapping_mul(PLACES_APART).wrapping_add(number);
        for place in 0..MAX_CLAIMS {
            let pair = Self(start.wrapping_add(place) % PAIRS);
            match ip(&["route", "add", &pair.inside().to_string(), "dev", link]) {
                Ok(()) => return Ok(pair),
                Err(NetnsError::Refused { message, .. }) if message.contains("File exists") => {}
                Err(error) => return Err(error),
            }
        }
        Err(NetnsError::NoAddress)
    }

    pub(super) fn outside(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + 2 * self.0)
    }

    pub(super) fn inside(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.outside().to_bits() + 1)
    }
}

/// Set aside for tests of networks by RFC 2544 (198.18.0.0/15), so that no real network is hidden by them.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const PAIRS: u32 = 1 << 16;
const MAX_CLAIMS: u32 = 1000;
const PLACES_APART: u32 = 251;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stay_in_their_range() {
        assert_eq!(AddressPair(0).outside(), Ipv4Addr::new(198, 18, 0, 0));
        assert_eq!(AddressPair(PAIRS - 1).inside(), Ipv4Addr::new(198, 19, 255, 255));
    }
}
