//! What is written into another process's bell.

use std::time::Duration;

use tenure_core::{ElectionName, Namespace};

use super::super::{ElectionKey, Interest, RESERVATION};

/// Why a bell is rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ring {
    /// It concerns a candidate of that process.
    Now,
    /// It will, unless the successor takes over while the lease is reserved for it.
    Later,
    /// That process wants to hear of everything.
    News,
    /// Messages wait for a candidate of that process, which leads.
    Messages,
    /// Something was said to all candidates of an election, and somebody in that process listens.
    Broadcast,
}

impl Ring {
    const ALL: [(Self, u8); 5] =
        [(Self::Now, b'!'), (Self::Later, b'~'), (Self::News, b'.'), (Self::Messages, b'@'), (Self::Broadcast, b'*')];

    /// Whose hint it is. A broadcast is no hint: it is read.
    pub(super) fn interest(self) -> Option<Interest> {
        match self {
            Self::Now | Self::Later => Some(Interest::Own),
            Self::News => Some(Interest::All),
            Self::Messages => Some(Interest::Messages),
            Self::Broadcast => None,
        }
    }

    pub(super) fn delay(self) -> Duration {
        match self {
            Self::Later => RESERVATION,
            Self::Now | Self::News | Self::Messages | Self::Broadcast => Duration::ZERO,
        }
    }

    /// One line, short enough to be written in one piece.
    pub(super) fn line(self, key: &ElectionKey) -> Vec<u8> {
        let mark = Self::ALL.into_iter().find(|(ring, _)| *ring == self).map_or(b'!', |(_, mark)| mark);
        format!("{}{}\0{}\n", char::from(mark), key.namespace, key.name).into_bytes()
    }

    /// The opposite of [`Ring::line`]. `None` may mean anything.
    pub(super) fn understand(line: &[u8]) -> Option<(Self, ElectionKey)> {
        let (ring, _) = Self::ALL.into_iter().find(|(_, mark)| line.first() == Some(mark))?;
        let (namespace, name) = str::from_utf8(line).ok()?.get(1..)?.strip_suffix('\n')?.split_once('\0')?;
        Some((ring, ElectionKey { namespace: Namespace::new(namespace).ok()?, name: ElectionName::new(name).ok()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_understood() {
        let key = ElectionKey {
            namespace: Namespace::new("ünter").unwrap(),
            name: ElectionName::new("it's ~ a name.").unwrap(),
        };
        for (ring, _) in Ring::ALL {
            assert_eq!(Ring::understand(&ring.line(&key)), Some((ring, key.clone())));
        }
    }

    #[test]
    fn nonsense_means_anything() {
        for line in [&b""[..], b"!", b"x\n", b"!a\n", b"!\0\n", b"\xff\xff\0a\n", b"!a\0b", b"?a\0b\n"] {
            assert_eq!(Ring::understand(line), None);
        }
    }
}
