//! In every process elections and losses alternate, a loss names the term of its election, nothing is renewed after it,
//! and terms grow, whatever the store does.

use tenure_core::{Term, Verb};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Alternation {
    processes: Vec<ProcessTerms>,
}

#[derive(Default, Clone)]
struct ProcessTerms {
    leads: Option<Term>,
    last: Option<Term>,
}

impl Alternation {
    fn process(&mut self, node: usize) -> &mut ProcessTerms {
        if self.processes.len() <= node {
            self.processes.resize(node + 1, ProcessTerms::default());
        }
        &mut self.processes[node]
    }

    fn leads(&mut self, world: &View<'_>, node: usize, term: Term, does: &str) -> Result<(), String> {
        match self.process(node).leads {
            Some(leads) if leads == term => Ok(()),
            leads => Err(format!("{} {does} term {term} while it leads under {leads:?}", world.name(node))),
        }
    }
}

impl Invariant for Alternation {
    fn name(&self) -> &'static str {
        "alternation"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Started { node } | Occurrence::Crashed { node } => {
                *self.process(node) = ProcessTerms::default();
            }
            Occurrence::Elected { node, term } => {
                let process = self.process(node);
                if let Some(leads) = process.leads.replace(term) {
                    return Err(format!("{} is elected under {term} while it leads under {leads}", world.name(node)));
                }
                if let Some(last) = process.last.replace(term)
                    && term <= last
                {
                    return Err(format!("{} is elected under {term} after {last}", world.name(node)));
                }
            }
            Occurrence::Lost { node, term, .. } => {
                let leads = self.process(node).leads.take();
                if leads != Some(term) {
                    return Err(format!("{} loses term {term} while it leads under {leads:?}", world.name(node)));
                }
            }
            Occurrence::Trusted { node, term } => self.leads(world, node, term, "trusts")?,
            Occurrence::Sent { node, request } => {
                if let Verb::Renew { term, .. } = request.verb {
                    self.leads(world, node, term, "renews")?;
                }
            }
            _ => (),
        }
        Ok(())
    }
}
