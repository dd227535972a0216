//! Hints that something may have changed, and the interest in them.

use std::fmt;
use std::time::Duration;

use tenure_core::ElectionKey;

/// The kind of hints that a watcher is interested in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Hints for candidates that campaigned through this very store handle.
    Own,
    /// Every change of leadership.
    All,
    /// Messages that may wait for an election that a candidate of this very store handle leads. A store without a
    /// [mailbox](crate::Store::mailbox) has nothing to say about them.
    Messages,
}

impl fmt::Display for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own elections",
            Self::All => "all elections",
            Self::Messages => "messages",
        })
    }
}

/// A hint that something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The election that may have changed; `None` means any.
    pub key: Option<ElectionKey>,
    /// Delay before looking, because another candidate goes first.
    pub after: Duration,
}

impl Hint {
    /// A hint to look at this election now.
    #[must_use]
    pub fn at(key: ElectionKey) -> Self {
        Self { key: Some(key), after: Duration::ZERO }
    }

    /// A hint to look at all elections now.
    #[must_use]
    pub fn anywhere() -> Self {
        Self { key: None, after: Duration::ZERO }
    }
}
