//! Nothing happens under a term whose release was sent, and a release is sent only when the work has ended.

use tenure_core::{Term, Verb};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct ResignedTerms {
    /// The process by candidate and life, and the last term it released.
    released: Vec<(usize, u32, Term)>,
}

impl ResignedTerms {
    fn is_released(&self, world: &View<'_>, node: usize, term: Term) -> bool {
        self.released.contains(&(node, world.life(node), term))
    }
}

impl Invariant for ResignedTerms {
    fn name(&self) -> &'static str {
        "resigned-terms"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        let (node, term, what) = match *seen {
            Occurrence::Elected { node, term } => (node, term, "is elected"),
            Occurrence::Trusted { node, term } => (node, term, "is trusted"),
            Occurrence::Acted { node, term } => (node, term, "acts"),
            Occurrence::Sent { node, request } => match request.verb {
                Verb::Renew { term, .. } => (node, term, "renews"),
                Verb::Resign { term: Some(term), .. } => {
                    self.released.retain(|(of, _, _)| *of != node);
                    self.released.push((node, world.life(node), term));
                    if world.works_under(node) == Some(term) {
                        return Err(format!("{} releases term {term} while it works under it", world.name(node)));
                    }
                    return Ok(());
                }
                _ => return Ok(()),
            },
            Occurrence::ReleasedInPlaceOf { node, life, term } => {
                if world.works_as(node, life, term) {
                    let name = world.name(node);
                    return Err(format!("term {term} is released in the place of {name} while its work goes on"));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if self.is_released(world, node, term) {
            return Err(format!("{} {what} under term {term}, which it has released", world.name(node)));
        }
        Ok(())
    }
}
