//! One lease, as far as another process has to know it.

use std::fmt;

use serde::{Deserialize, Serialize};
use tenure_core::{ElectionName, LossReason, Namespace, Nonce, Term};

use crate::leadership::Leadership;
use crate::store::{ElectionKey, Resign};

/// A lease that another process may release when its holder has died. It holds the nonce, which is a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenLease", into = "WrittenLease")]
pub struct OrphanLease {
    key: ElectionKey,
    nonce: Nonce,
    term: Term,
}

/// How it is handed over.
#[derive(Clone, Serialize, Deserialize)]
struct WrittenLease {
    namespace: String,
    election: String,
    nonce: [u8; 16],
    term: u64,
}

impl OrphanLease {
    /// The lease of a leadership; `None` if the leadership knows no nonce, as in a test.
    #[must_use]
    pub fn of(leadership: &Leadership) -> Option<Self> {
        let nonce = leadership.nonce()?;
        Some(Self { key: leadership.shared().key.clone(), nonce, term: leadership.term() })
    }

    pub(super) fn resignation(&self) -> Resign {
        let Self { key, nonce, term } = self.clone();
        Resign { key, nonce, term: Some(term), successor: None, reason: LossReason::Crashed }
    }
}

impl fmt::Debug for OrphanLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrphanLease").field("key", &self.key).field("term", &self.term).finish_non_exhaustive()
    }
}

impl From<OrphanLease> for WrittenLease {
    fn from(OrphanLease { key, nonce, term }: OrphanLease) -> Self {
        let nonce = nonce.to_bits().to_be_bytes();
        Self { namespace: key.namespace.to_string(), election: key.name.to_string(), nonce, term: term.get() }
    }
}

impl TryFrom<WrittenLease> for OrphanLease {
    type Error = String;

    fn try_from(written: WrittenLease) -> Result<Self, String> {
        let namespace = Namespace::new(written.namespace).map_err(|error| error.to_string())?;
        let name = ElectionName::new(written.election).map_err(|error| error.to_string())?;
        let term = Term::new(written.term).ok_or("no term has this number")?;
        let nonce = Nonce::from_bits(u128::from_be_bytes(written.nonce));
        Ok(Self { key: ElectionKey { namespace, name }, nonce, term })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_handed_over_whole_and_shows_no_nonce() {
        let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("it's 🦀").unwrap() };
        let nonce = Nonce::from_bits(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);
        let lease = OrphanLease { key, nonce, term: Term::new(Term::MAX).unwrap() };
        let written = serde_json::to_string(&lease).unwrap();
        assert_eq!(serde_json::from_str::<OrphanLease>(&written).unwrap(), lease);
        let shown = format!("{lease:?}");
        assert!(shown.contains("🦀") && !shown.contains(&nonce.to_bits().to_string()), "{shown}");
        assert!(serde_json::from_str::<OrphanLease>(&written.replace(&Term::MAX.to_string(), "0")).is_err());
    }
}
