//! The parts of a lease: the term that fences, the nonce that owns, and the public view of the leader.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::id::CandidateId;

/// Free text a candidate publishes about itself, such as its zone or its version.
pub type Metadata = Arc<BTreeMap<String, String>>;

/// The number of one grant: strictly greater than that of every earlier grant of the election, for ever.
///
/// It is the fencing token. It is never 0 and at most 2^53, so that it survives JSON and JavaScript.
///
/// ```
/// # use tenure_core as tenure;
/// use tenure::Term;
///
/// let term = Term::new(7).unwrap();
/// assert!(Term::new(8).unwrap() > term);
/// assert!(Term::new(0).is_none());
/// assert!(Term::new((1 << 53) + 1).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(NonZeroU64);

impl Term {
    /// The largest term: the largest integer that every JSON reader keeps exactly.
    pub const MAX: u64 = 1 << 53;

    /// The highest term that terms may be [raised](crate::store_rules::record) above by hand: half of all of them are left to
    /// grant.
    pub const MAX_RAISED: u64 = 1 << 52;

    /// Creates the term of this number, unless it is 0 or beyond [`Term::MAX`].
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number > Self::MAX {
            return None;
        }
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the term after `previous`, or the first one. `None` when the numbers are used up.
    #[must_use]
    pub fn after(previous: Option<Self>) -> Option<Self> {
        Self::new(previous.map_or(0, Self::get) + 1)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Term({})", self.0)
    }
}

/// 128 random bits that own a grant. Every process that knows them owns it, so they are never printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(u128);

impl Nonce {
    /// Creates a nonce from these bits, which must be random outside of simulations.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns the bits, for a store to keep.
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(…)")
    }
}

/// The leader, as a store reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Leader {
    /// The leader's label.
    pub candidate: CandidateId,
    /// The term it leads under. A participant that draws no terms is shown with a term below all that will be granted
    /// after it.
    pub term: Term,
    /// When it was granted that term, as the store keeps it: in milliseconds since the Unix epoch on the store's wall clock.
    /// `None` if the store does not know. [`since`](Self::since) is the time for people.
    pub since_unix_ms: Option<u64>,
    /// The metadata it has published.
    pub metadata: Metadata,
}
