//! The limit of raising terms by hand.

use tenure_core::Term;

use super::error::{StoreError, StoreErrorKind};

/// Refuses to raise terms so high that an election could run out of them. Each store checks this before it
/// [raises](super::Store::raise_terms) anything.
///
/// # Errors
/// When `above` is greater than [`Term::MAX_RAISED`].
pub fn check_raise(above: Term) -> Result<(), StoreError> {
    if above.get() <= Term::MAX_RAISED {
        return Ok(());
    }
    let message = format!(
        "cannot raise terms above {above}: {} (2^52) is the limit, since terms end at 2^53 and an election without terms has \
         no leader",
        Term::MAX_RAISED
    );
    Err(StoreError::not_sent(StoreErrorKind::Configuration, message))
}
