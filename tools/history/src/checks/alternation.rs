//! A process is elected, loses that very term, is elected again, and so on.

use super::{Check, Violation};
use crate::event::{Event, What};
use crate::life::Life;

pub(super) fn check(life: &Life<'_>) -> Vec<Violation> {
    let mut walk = Walk { life, state: State::Following, violations: Vec::new() };
    life.events.iter().for_each(|event| walk.step(event));
    walk.violations
}

#[derive(Clone, Copy)]
enum State<'a> {
    Following,
    Leading(u64, &'a Event),
    /// What it said between the clock reading and the kill is no offence.
    Killed(u64),
}

struct Walk<'a> {
    life: &'a Life<'a>,
    state: State<'a>,
    violations: Vec<Violation>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, event: &'a Event) {
        match (&event.what, self.state) {
            (What::Other, _) => {}
            (What::Elected { term, .. }, state) => {
                if let State::Leading(open, elected) = state {
                    self.object(
                        &format!("was elected under term {term} without having lost term {open}"),
                        elected,
                        event,
                    );
                }
                self.state = State::Leading(*term, event);
            }
            (What::Renewed { term, .. }, State::Leading(open, _) | State::Killed(open)) if *term == open => {}
            (What::Renewed { term, .. }, _) => {
                self.object(&format!("renewed term {term}, which it does not hold"), event, event);
            }
            (What::Lost { term, .. }, state) => {
                match state {
                    State::Leading(open, _) | State::Killed(open) if *term == open => {}
                    State::Leading(open, elected) => {
                        self.object(&format!("was elected under term {open} and lost term {term}"), elected, event);
                    }
                    State::Following | State::Killed(_) => {
                        self.object(&format!("lost term {term} without having been elected"), event, event);
                    }
                }
                self.state = State::Following;
            }
            (What::Stopped, state) => {
                if let State::Leading(open, elected) = state {
                    self.object(&format!("stopped without having lost term {open}"), elected, event);
                }
                self.state = State::Following;
            }
            (What::Killed, State::Leading(term, _)) => self.state = State::Killed(term),
            (What::Killed, _) => {}
        }
    }

    fn object(&mut self, what: &str, earlier: &Event, event: &Event) {
        let mut lines = vec![earlier.source.clone(), event.source.clone()];
        lines.dedup();
        let message = format!("{} {what}", self.life.candidate);
        self.violations.push(Violation { check: Check::Alternation, message, lines, between_boot_ns: None });
    }
}
