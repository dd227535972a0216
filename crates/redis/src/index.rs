//! The lists of all elections and of all mailboxes, stored beside them.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::cmd;
use tenure_store::{ElectionKey, Namespace};

use super::call::{Call, CallCommand};
use super::keys::Keys;

/// The elections that this handle has put into the index.
///
/// In a cluster the index of a namespace is elsewhere than the elections in it, so it cannot be part of their steps. It is
/// written in the same round trip as the first campaign, and needs no more care than that: nothing is decided by it.
#[derive(Default)]
pub(super) struct ElectionIndex {
    listed: Mutex<HashSet<ElectionKey>>,
}

impl ElectionIndex {
    /// The elections among these that are not listed yet.
    pub(super) fn missing<'a>(&self, elections: impl Iterator<Item = &'a ElectionKey>) -> Vec<ElectionKey> {
        let listed = self.listed();
        elections.filter(|election| !listed.contains(*election)).cloned().collect()
    }

    /// Records that these are listed now.
    pub(super) fn add(&self, elections: impl IntoIterator<Item = ElectionKey>) {
        self.listed().extend(elections);
    }

    /// Records that this one is no longer listed.
    pub(super) fn remove(&self, election: &ElectionKey) {
        self.listed().remove(election);
    }

    fn listed(&self) -> MutexGuard<'_, HashSet<ElectionKey>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind of list: each namespace has one of each kind.
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    /// Elections that ever had a candidate.
    Elections,
    /// Elections that were ever sent messages. Those with none left stay listed until they are forgotten.
    Mailboxes,
}

impl List {
    pub(super) fn key(self, keys: &Keys, namespace: &Namespace) -> String {
        match self {
            Self::Elections => keys.index(namespace),
            Self::Mailboxes => keys.mailboxes(namespace),
        }
    }

    /// The keys beside a lease which show that its election belongs on the list.
    pub(super) fn companions(self) -> &'static [&'static str] {
        match self {
            Self::Elections => &["election"],
            Self::Mailboxes => &["messages", "aside"],
        }
    }

    /// The command that removes an election from the list.
    pub(super) fn removal(self, keys: &Keys, election: &ElectionKey) -> Call {
        let list = self.key(keys, &election.namespace);
        let mut command = cmd("SREM");
        command.arg(&list).arg(election.name.as_str());
        Call { route: list, order: CallCommand::Plain(command) }
    }

    /// The commands that list these elections: one for each namespace.
    pub(super) fn entries<'a>(self, keys: &Keys, elections: impl Iterator<Item = &'a ElectionKey>) -> Vec<Call> {
        let mut by_namespace: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for election in elections {
            by_namespace.entry(self.key(keys, &election.namespace)).or_default().push(election.name.as_str());
        }
        let entry = |(list, names): (String, Vec<&str>)| {
            let mut command = cmd("SADD");
            command.arg(&list).arg(names);
            Call { route: list, order: CallCommand::Plain(command) }
        };
        by_namespace.into_iter().map(entry).collect()
    }
}
