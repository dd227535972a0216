//! Parts of a state that many states have in common.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use ahash::RandomState;

/// A value that is shared by all states that have it, and hashed only once. Most steps change one part of a state, so
/// most parts of most states cost a pointer.
#[derive(Debug)]
pub(super) struct Interned<T>(Arc<Hashed<T>>);

#[derive(Debug)]
struct Hashed<T> {
    hash: u64,
    value: T,
}

impl<T: Hash> Interned<T> {
    pub(super) fn new(value: T) -> Self {
        // Fixed seeds: the same value has the same hash in every run.
        let hash = RandomState::with_seeds(1, 2, 3, 4).hash_one(&value);
        Self(Arc::new(Hashed { hash, value }))
    }
}

impl<T> Interned<T> {
    /// An order without a meaning, but always the same.
    pub(super) fn rank(&self) -> u64 {
        self.0.hash
    }
}

impl<T> Clone for Interned<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Interned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: PartialEq> PartialEq for Interned<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.value == other.0.value)
    }
}

impl<T: Eq> Eq for Interned<T> {}

impl<T> Hash for Interned<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0.hash);
    }
}
