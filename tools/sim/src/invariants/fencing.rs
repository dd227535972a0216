//! A resource that checks terms never accepts an older one after a newer one, nor one term from two processes. One that
//! does not check is shown what it would have been spared: the writes it refuses would have been stale.

use tenure_core::Term;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Fencing {
    /// The newest term that was accepted, and from which process.
    newest: Option<(Term, usize, u32)>,
}

impl Invariant for Fencing {
    fn name(&self) -> &'static str {
        "fencing"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let Occurrence::Written { node, life, term } = *seen else { return Ok(()) };
        match self.newest {
            // Refused, as it should be.
            Some((newest, ..)) if term < newest => Ok(()),
            Some((newest, of, in_life)) if term == newest && (of, in_life) != (node, life) => {
                Err(format!("{} and {} both write under term {term}", world.name(node), world.name(of)))
            }
            _ => {
                self.newest = Some((term, node, life));
                Ok(())
            }
        }
    }
}
