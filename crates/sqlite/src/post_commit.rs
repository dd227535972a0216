//! Actions to take after a commit: no process is woken for changes that were not committed.

use std::collections::BTreeSet;

use tenure_store::{ElectionKey, Instant, Nonce};

use super::peer_registry::PeerRegistry;
use super::wake_listener::{WakeFollower, WakeListener};
use super::wake_message::WakeMessage;
use tenure_store::record::{Effects, ProcessToken, Wake};

#[derive(Debug, Default)]
pub(super) struct PostCommit {
    pub(super) follow: Vec<WakeFollower>,
    pub(super) forget: Vec<Nonce>,
    pub(super) watchers: Vec<ProcessToken>,
    /// Leaders that have messages waiting.
    pub(super) messages: Vec<(ElectionKey, ProcessToken)>,
    /// Listeners to new broadcasts.
    pub(super) broadcasts: BTreeSet<(ElectionKey, ProcessToken)>,
    wake: Vec<(ElectionKey, Wake)>,
    changed: Vec<ElectionKey>,
}

impl PostCommit {
    pub(super) fn add(&mut self, key: &ElectionKey, effects: &Effects) {
        self.wake.extend(effects.wake.iter().map(|wake| (key.clone(), *wake)));
        if !effects.transitions.is_empty() || !effects.wake.is_empty() {
            self.changed.push(key.clone());
        }
    }

    pub(super) fn has_news(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Wakes the processes concerned, the successor first. Returns those that turned out to be gone.
    pub(super) fn settle(
        self,
        registry: &PeerRegistry,
        own: ProcessToken,
        wake_listener: &WakeListener,
        now: Instant,
    ) -> Vec<ProcessToken> {
        let mut gone = Vec::new();
        let mut wake = |process: ProcessToken, message: WakeMessage, key: &ElectionKey| {
            if process == own {
                wake_listener.tell(message, Some(key.clone()));
            } else if !gone.contains(&process) && !registry.wake(process, &message.line(key)) {
                gone.push(process);
            }
        };
        for (key, Wake { process, after }) in &self.wake {
            wake(*process, WakeMessage::after(*after), key);
        }
        for key in &self.changed {
            for process in &self.watchers {
                wake(*process, WakeMessage::AllChanges, key);
            }
        }
        for (key, leader) in &self.messages {
            wake(*leader, WakeMessage::Messages, key);
        }
        for (key, listener) in &self.broadcasts {
            wake(*listener, WakeMessage::Broadcast, key);
        }
        for candidate in self.forget {
            wake_listener.forget(candidate);
        }
        for follower in self.follow {
            wake_listener.follow(registry, follower, now);
        }
        gone
    }
}
