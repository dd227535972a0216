//! The kinds of stores there are, by what their machines do to a lease.

use std::fmt;

/// What a store is like. The rules it decides by are the same everywhere; what differs is the machine under them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// In the candidates' own machine, on their own clock; sees processes die. SQLite, memory.
    Embedded,
    /// A server with a clock of its own that does not step. PostgreSQL.
    Steady,
    /// A server whose leases end by a wall clock that counts milliseconds and may be set. Redis, PostgreSQL.
    WallClock,
    /// A server that fails over to a copy that lags behind, while some still talk to the old one. Redis with Sentinel,
    /// PostgreSQL with an asynchronous standby.
    Replicated,
    /// A quorum: a shortest ttl, expiry that comes late, and leases that begin anew when its leader changes. etcd.
    Quorum,
}

impl StoreKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Embedded, Self::Steady, Self::WallClock, Self::Replicated, Self::Quorum];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Steady => "steady",
            Self::WallClock => "wall-clock",
            Self::Replicated => "replicated",
            Self::Quorum => "quorum",
        }
    }

    pub(crate) fn is_remote(self) -> bool {
        self != Self::Embedded
    }

    /// Sees processes die.
    pub(crate) fn sees_death(self) -> bool {
        self == Self::Embedded
    }

    /// Counts in whole milliseconds.
    pub(crate) fn is_coarse(self) -> bool {
        matches!(self, Self::WallClock | Self::Replicated)
    }
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
