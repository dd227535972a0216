//! Every election has a higher term than all before it. That the store granted them in this order is not enough: who
//! hears of a grant too late must not be elected by it.

use tenure_core::Term;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct TermsGrow {
    highest: Option<Term>,
}

impl Invariant for TermsGrow {
    fn name(&self) -> &'static str {
        "terms-grow"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::ClocksGoOn, Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Elected { node, term } = *seen else { return Ok(()) };
        match self.highest.replace(term) {
            Some(highest) if term <= highest => {
                Err(format!("{} is elected under term {term} after somebody was under {highest}", world.name(node)))
            }
            _ => Ok(()),
        }
    }
}
