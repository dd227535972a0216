//! Pushes: that something may have changed, and who wants to hear of it.

use std::time::Duration;

use tenure_core::ElectionKey;

/// What a watcher wants to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// What concerns candidates that campaigned through this very store handle.
    Own,
    /// Every change of leadership.
    All,
    /// Messages that may wait for an election that a candidate of this very store handle leads. A store without a
    /// [mailbox](crate::Store::mailbox) has nothing to say about them.
    Messages,
}

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Where; `None` means anywhere.
    pub key: Option<ElectionKey>,
    /// How long to wait before looking, because somebody else goes first.
    pub after: Duration,
}

impl Hint {
    /// Look there now.
    #[must_use]
    pub fn at(key: ElectionKey) -> Self {
        Self { key: Some(key), after: Duration::ZERO }
    }

    /// Look everywhere now.
    #[must_use]
    pub fn anywhere() -> Self {
        Self { key: None, after: Duration::ZERO }
    }
}
