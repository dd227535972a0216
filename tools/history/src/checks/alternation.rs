//! A process is elected, loses that very term, is elected again, and so on.

use super::{Check, HistoryViolation};
use crate::event::{HistoryEvent, HistoryEventKind};
use crate::life::ProcessLife;

pub(super) fn check(life: &ProcessLife<'_>) -> Vec<HistoryViolation> {
    let mut walk = Walk { life, state: AlternationState::Following, violations: Vec::new() };
    life.events.iter().for_each(|event| walk.step(event));
    walk.violations
}

#[derive(Clone, Copy)]
enum AlternationState<'a> {
    Following,
    Leading(u64, &'a HistoryEvent),
    /// What it said between the clock reading and the kill is no offence.
    Killed(u64),
}

struct Walk<'a> {
    life: &'a ProcessLife<'a>,
    state: AlternationState<'a>,
    violations: Vec<HistoryViolation>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, event: &'a HistoryEvent) {
        match (&event.what, self.state) {
            (HistoryEventKind::Other, _) => {}
            (HistoryEventKind::Elected { term, .. }, state) => {
                if let AlternationState::Leading(open, elected) = state {
                    self.object(
                        &format!("was elected under term {term} without having lost term {open}"),
                        elected,
                        event,
                    );
                }
                self.state = AlternationState::Leading(*term, event);
            }
            (
                HistoryEventKind::Renewed { term, .. },
                AlternationState::Leading(open, _) | AlternationState::Killed(open),
            ) if *term == open => {}
            (HistoryEventKind::Renewed { term, .. }, _) => {
                self.object(&format!("renewed term {term}, which it does not hold"), event, event);
            }
            (HistoryEventKind::Lost { term, .. }, state) => {
                match state {
                    AlternationState::Leading(open, _) | AlternationState::Killed(open) if *term == open => {}
                    AlternationState::Leading(open, elected) => {
                        self.object(&format!("was elected under term {open} and lost term {term}"), elected, event);
                    }
                    AlternationState::Following | AlternationState::Killed(_) => {
                        self.object(&format!("lost term {term} without having been elected"), event, event);
                    }
                }
                self.state = AlternationState::Following;
            }
            (HistoryEventKind::Stopped, state) => {
                if let AlternationState::Leading(open, elected) = state {
                    self.object(&format!("stopped without having lost term {open}"), elected, event);
                }
                self.state = AlternationState::Following;
            }
            (HistoryEventKind::Killed, AlternationState::Leading(term, _)) => {
                self.state = AlternationState::Killed(term);
            }
            (HistoryEventKind::Killed, _) => {}
        }
    }

    fn object(&mut self, what: &str, earlier: &HistoryEvent, event: &HistoryEvent) {
        let mut lines = vec![earlier.source.clone(), event.source.clone()];
        lines.dedup();
        let message = format!("{} {what}", self.life.candidate);
        self.violations.push(HistoryViolation { check: Check::Alternation, message, lines, between_boot_ns: None });
    }
}
