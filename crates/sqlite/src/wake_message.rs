//! The messages written into another process's wake pipe.

use std::time::Duration;

use tenure_store::{ElectionKey, ElectionName, Interest, Namespace};

/// The reason for waking a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeMessage {
    /// It concerns a candidate of that process.
    Now,
    /// It will after a while, unless a candidate that goes first takes over meanwhile.
    Later(Duration),
    /// That process wants every change.
    AllChanges,
    /// Messages wait for a candidate of that process, which leads.
    Messages,
    /// A broadcast was sent to an election that has listeners in that process.
    Broadcast,
}

/// The longest delay: no line may keep a process busy for ever.
const MAX_LATER: Duration = Duration::from_secs(60);
/// Marks a delayed look. A program that does not know it looks at once, and again when it should.
const LATER: char = '+';

impl WakeMessage {
    const MARKS: [(Self, char); 4] =
        [(Self::Now, '!'), (Self::AllChanges, '.'), (Self::Messages, '@'), (Self::Broadcast, '*')];

    /// It concerns a candidate of that process, which waits this long before it looks.
    pub(super) fn after(delay: Duration) -> Self {
        if delay.is_zero() { Self::Now } else { Self::Later(delay) }
    }

    /// The watchers that the hint is for. A broadcast is not a hint: it is read.
    pub(super) fn interest(self) -> Option<Interest> {
        match self {
            Self::Now | Self::Later(_) => Some(Interest::Own),
            Self::AllChanges => Some(Interest::All),
            Self::Messages => Some(Interest::Messages),
            Self::Broadcast => None,
        }
    }

    pub(super) fn delay(self) -> Duration {
        match self {
            Self::Later(delay) => delay,
            Self::Now | Self::AllChanges | Self::Messages | Self::Broadcast => Duration::ZERO,
        }
    }

    /// One line, short enough to be written in one piece.
    pub(super) fn line(self, key: &ElectionKey) -> Vec<u8> {
        let mark = match self {
            Self::Later(delay) => format!("{LATER}{}\0", delay.as_micros()),
            _ => {
                Self::MARKS.into_iter().find(|(message, _)| *message == self).map_or('!', |(_, mark)| mark).to_string()
            }
        };
        format!("{mark}{}\0{}\n", key.namespace, key.name).into_bytes()
    }

    /// The opposite of [`WakeMessage::line`]. `None` may mean anything.
    pub(super) fn understand(line: &[u8]) -> Option<(Self, ElectionKey)> {
        let line = str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (message, names) = match line.strip_prefix(LATER) {
            Some(later) => {
                let (micros, names) = later.split_once('\0')?;
                (Self::Later(Duration::from_micros(micros.parse().ok()?).min(MAX_LATER)), names)
            }
            None => Self::MARKS.into_iter().find_map(|(message, mark)| Some((message, line.strip_prefix(mark)?)))?,
        };
        let (namespace, name) = names.split_once('\0')?;
        Some((message, ElectionKey { namespace: Namespace::new(namespace).ok()?, name: ElectionName::new(name).ok()? }))
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
        let later = [1, 62_500, 60_000_000].map(|micros| WakeMessage::Later(Duration::from_micros(micros)));
        for message in WakeMessage::MARKS.into_iter().map(|(message, _)| message).chain(later) {
            assert_eq!(WakeMessage::understand(&message.line(&key)), Some((message, key.clone())));
        }
    }

    #[test]
    fn nonsense_means_anything() {
        for line in [
            &b""[..],
            b"!",
            b"x\n",
            b"!a\n",
            b"!\0\n",
            b"\xff\xff\0a\n",
            b"!a\0b",
            b"?a\0b\n",
            b"+\0a\0b\n",
            b"+1a\0b\n",
        ] {
            assert_eq!(WakeMessage::understand(line), None);
        }
    }

    #[test]
    fn nothing_is_put_off_for_ever() {
        let (message, _) = WakeMessage::understand(format!("+{}\0a\0b\n", u64::MAX).as_bytes()).unwrap();
        assert_eq!(message, WakeMessage::Later(MAX_LATER));
    }
}
