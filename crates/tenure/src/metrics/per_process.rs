//! Values that a forked child does not inherit.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tenure_sys::ForkMarker;

/// One value for all of a process, behind a lock.
///
/// A plain lock would be copied by a fork as it is at that moment: if another thread holds it, nobody in the child can ever
/// let it go. So each process has a lock of its own, and what its parent kept there is not the child's concern.
#[derive(Debug)]
pub(super) struct PerProcess<T: 'static>(OnceLock<Generation<T>>);

#[derive(Debug)]
struct Generation<T: 'static> {
    process: ForkMarker,
    value: Mutex<T>,
    /// Of the child that inherited this one.
    next: OnceLock<Box<Generation<T>>>,
}

impl<T: Default> PerProcess<T> {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// A panic elsewhere cannot have left the value half changed: every step on it is one assignment.
    pub(super) fn lock(&'static self) -> MutexGuard<'static, T> {
        let mut generation = self.0.get_or_init(Generation::begin);
        while !generation.process.is_same_process() {
            generation = generation.next.get_or_init(|| Box::new(Generation::begin()));
        }
        generation.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Generation<T> {
    fn begin() -> Self {
        Self { process: ForkMarker::of_this_process(), value: Mutex::default(), next: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_stays_as_long_as_the_process_does() {
        static COUNT: PerProcess<u32> = PerProcess::new();
        *COUNT.lock() += 1;
        *COUNT.lock() += 1;
        assert_eq!(*COUNT.lock(), 2);
    }
}
