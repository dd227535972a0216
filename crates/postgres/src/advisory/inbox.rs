//! Messages to leaders, as kept between their arrival and their end: in the memory of the leader.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::de::IgnoredAny;
use tenure_store::{
    ChannelName, ElectionKey, ElectionName, MessageCount, Namespace, NewMessage, Sender, Term, random_message_id,
};
use tokio_postgres::Notification;

use tenure_store::clock::unix_ms;
use tenure_store::mailbox::MailboxRecord;

use super::mailbox::PROMISES;

/// The messages that arrived at one session.
#[derive(Debug, Default)]
pub(super) struct SessionInbox {
    boxes: HashMap<ElectionKey, ElectionInbox>,
    /// The channels that the server was asked for.
    listened: BTreeSet<ChannelName>,
}

/// The messages that arrived for one election under one term.
#[derive(Debug)]
struct ElectionInbox {
    term: Term,
    channels: BTreeSet<ChannelName>,
    messages: MailboxRecord,
}

impl SessionInbox {
    /// Opens a box for these channels if there is none, and returns those that the server was not yet asked for. What came
    /// under an earlier term is forgotten: it was for another leader.
    pub(super) fn open(&mut self, key: &ElectionKey, term: Term, channels: &[ChannelName]) -> Vec<ChannelName> {
        let election_inbox = self.boxes.entry(key.clone()).or_insert_with(|| ElectionInbox::new(term));
        if election_inbox.term != term {
            *election_inbox = ElectionInbox::new(term);
        }
        election_inbox.channels.extend(channels.iter().cloned());
        channels.iter().filter(|channel| !self.listened.contains(*channel)).cloned().collect()
    }

    /// Records that the server notifies about these from now on.
    pub(super) fn listen(&mut self, channels: impl IntoIterator<Item = ChannelName>) {
        self.listened.extend(channels);
    }

    /// Closes a box, and returns the channels that are no longer needed.
    pub(super) fn close(&mut self, key: &ElectionKey) -> Vec<ChannelName> {
        self.boxes.remove(key);
        let boxes = &self.boxes;
        let is_needed =
            |channel: &ChannelName| boxes.values().any(|election_inbox| election_inbox.channels.contains(channel));
        let (needed, idle) = std::mem::take(&mut self.listened).into_iter().partition(is_needed);
        self.listened = needed;
        BTreeSet::into_iter(idle).collect()
    }

    /// Puts what has arrived into the boxes of all elections that are led from here and wait for it, and returns these. What
    /// is not JSON was not meant for leaders.
    pub(super) fn deliver(&mut self, told: &Notification, led: &[(ElectionKey, Term)]) -> Vec<ElectionKey> {
        let Ok(channel) = ChannelName::new(told.channel()) else { return Vec::new() };
        if serde_json::from_str::<IgnoredAny>(told.payload()).is_err() {
            log!(debug, %channel, "skipped a notification that is not JSON");
            return Vec::new();
        }
        // Nobody says who sends, but the server says through which of its processes.
        let Ok(sender) = Sender::new(format!("backend {}", told.process_id())) else { return Vec::new() };
        let payload: Arc<str> = Arc::from(told.payload());
        let terms: BTreeMap<&ElectionKey, Term> = led.iter().map(|(key, term)| (key, *term)).collect();
        let mut delivered = Vec::new();
        for (key, election_inbox) in &mut self.boxes {
            if terms.get(key) != Some(&election_inbox.term) || !election_inbox.channels.contains(&channel) {
                continue;
            }
            let new_message = NewMessage {
                key: key.clone(),
                id: random_message_id(),
                channel: channel.clone(),
                sender: sender.clone(),
                payload: Arc::clone(&payload),
            };
            let reply = election_inbox.messages.send(&new_message, PROMISES.limits(), unix_ms());
            match PROMISES.answer(&new_message, reply) {
                Ok(()) => delivered.push(key.clone()),
                Err(error) => log!(warn, %channel, election = %key, "a message was lost: {error}"),
            }
        }
        delivered
    }

    /// The messages of this term, if there are any.
    pub(super) fn of(&mut self, key: &ElectionKey, term: Option<Term>) -> Option<&mut MailboxRecord> {
        let election_inbox =
            self.boxes.get_mut(key).filter(|election_inbox| term.is_none_or(|term| term == election_inbox.term))?;
        Some(&mut election_inbox.messages)
    }

    /// The number of messages of this election, or of each in the namespace that has any.
    pub(super) fn counts(&self, namespace: &Namespace, only: Option<&ElectionName>) -> Vec<MessageCount> {
        let wanted = |key: &ElectionKey| key.namespace == *namespace && only.is_none_or(|name| *name == key.name);
        let boxes = self.boxes.iter().filter(|(key, _)| wanted(key));
        let mut counts: Vec<MessageCount> =
            boxes.filter_map(|(key, election_inbox)| election_inbox.messages.count(&key.name)).collect();
        counts.sort_by(|one, other| one.election.cmp(&other.election));
        counts
    }
}

impl ElectionInbox {
    fn new(term: Term) -> Self {
        Self { term, channels: BTreeSet::new(), messages: MailboxRecord::default() }
    }
}
