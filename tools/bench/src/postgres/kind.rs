//! The two stores on PostgreSQL.

use clap::ValueEnum;

use super::older::{self, Older};

/// A store on PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PostgresStoreKind {
    /// Leases in a table.
    Lease,
    /// Advisory locks.
    Advisory,
}

impl PostgresStoreKind {
    /// The scheme of its addresses.
    pub(super) fn scheme(self) -> &'static str {
        match self {
            Self::Lease => "postgres",
            Self::Advisory => "postgres+advisory",
        }
    }

    /// What follows in the names of its figures.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Lease => ", lease",
            Self::Advisory => ", advisory",
        }
    }

    /// Who did the same by the same means before.
    pub(super) fn older(self) -> Older {
        match self {
            Self::Lease => older::RECIPE,
            Self::Advisory => older::LOCK,
        }
    }
}
