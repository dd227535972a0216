//! What is left to do when a transaction has been committed: nobody is woken for what did not happen.

use tenure_core::{Instant, Nonce};

use super::super::rules::{Effects, ProcessToken};
use super::super::{ElectionKey, Interest};
use super::pulse::{Follower, Pulse};
use super::registry::{Registry, line};

#[derive(Debug, Default)]
pub(super) struct Aftermath {
    pub(super) follow: Vec<Follower>,
    pub(super) forget: Vec<Nonce>,
    pub(super) watchers: Vec<ProcessToken>,
    wake: Vec<(ElectionKey, ProcessToken)>,
    changed: Vec<ElectionKey>,
}

impl Aftermath {
    pub(super) fn add(&mut self, key: &ElectionKey, effects: &Effects) {
        self.wake.extend(effects.wake.iter().map(|process| (key.clone(), *process)));
        if !effects.transitions.is_empty() || !effects.wake.is_empty() {
            self.changed.push(key.clone());
        }
    }

    pub(super) fn has_news(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Wakes whom it concerns, the successor first. Returns the processes that turned out to be gone.
    pub(super) fn settle(
        self,
        registry: &Registry,
        own: ProcessToken,
        pulse: &Pulse,
        now: Instant,
    ) -> Vec<ProcessToken> {
        let mut gone = Vec::new();
        let mut wake = |process: ProcessToken, interest: Interest, key: &ElectionKey| {
            if process == own {
                pulse.tell(interest, Some(key.clone()));
            } else if !gone.contains(&process) && !registry.wake(process, &line(interest, key)) {
                gone.push(process);
            }
        };
        for (key, process) in &self.wake {
            wake(*process, Interest::Own, key);
        }
        for key in &self.changed {
            for process in &self.watchers {
                wake(*process, Interest::All, key);
            }
        }
        for candidate in self.forget {
            pulse.forget(candidate);
        }
        for follower in self.follow {
            pulse.follow(registry, follower, now);
        }
        gone
    }
}
