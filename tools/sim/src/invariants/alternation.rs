//! In every process elections and losses alternate, a loss names the term of its election, nothing is renewed after it,
//! and terms grow, whatever the store does.

use tenure_core::{Term, Verb};

use super::{Invariant, Seen};
use crate::assumption::Assumption;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Alternation {
    processes: Vec<Process>,
}

#[derive(Default, Clone)]
struct Process {
    leads: Option<Term>,
    last: Option<Term>,
}

impl Alternation {
    fn process(&mut self, node: usize) -> &mut Process {
        if self.processes.len() <= node {
            self.processes.resize(node + 1, Process::default());
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

    fn see(&mut self, world: &View<'_>, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::Started { node } | Seen::Crashed { node } => *self.process(node) = Process::default(),
            Seen::Elected { node, term } => {
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
            Seen::Lost { node, term, .. } => {
                let leads = self.process(node).leads.take();
                if leads != Some(term) {
                    return Err(format!("{} loses term {term} while it leads under {leads:?}", world.name(node)));
                }
            }
            Seen::Trusted { node, term } => self.leads(world, node, term, "trusts")?,
            Seen::Sent { node, request } => {
                if let Verb::Renew { term, .. } = request.verb {
                    self.leads(world, node, term, "renews")?;
                }
            }
            _ => (),
        }
        Ok(())
    }
}
