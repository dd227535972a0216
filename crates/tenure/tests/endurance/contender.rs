//! A place in the election, and whoever takes it.

use std::sync::Arc;

use tenure::blocking::Client;

use crate::strike::StrikeKind;

/// A candidate, and after its end the one that takes its place.
pub(crate) trait Contender {
    /// Who it is now: each that takes the place has a label of its own.
    fn label(&self) -> String;

    /// Does this to it. It has happened when this returns.
    fn strike(&mut self, kind: StrikeKind);

    /// Undoes what was done; in the place of one that has ended another one begins.
    fn mend(&mut self);

    /// Lets it leave as it should, for good.
    fn leave(&mut self);
}

/// All who stand, and what can befall them.
pub(crate) struct Contenders {
    /// A view of the store that nothing befalls.
    pub(crate) watcher: Arc<Client>,
    pub(crate) contenders: Vec<Box<dyn Contender>>,
    pub(crate) kinds: &'static [StrikeKind],
}

/// So many stand, so that one can lead while two cannot.
pub(crate) const PLACES: [&str; 3] = ["a", "b", "c"];
