//! What each verb of messages sends to the server, and what comes back.

use std::marker::PhantomData;

use redis::{Cmd, Value};
use tenure_core::{Nonce, Term};
use tenure_store::ElectionKey;
use tenure_store::mailbox::{ASIDE_MAX, Fate, Message, MessageId, Post, Receive, Settle, Shelf, WAITING_MAX};

use super::error::Fault;
use super::keys::MESSAGE_KEYS;
use super::message_reply as reply;
use super::script::{self, Script};
use super::verbs::{Verb, hexadecimal};

pub(super) struct Sending<'a> {
    is_confirmed_by_replicas: bool,
    posts: PhantomData<&'a Post>,
}

impl Sending<'_> {
    pub(super) fn new(is_confirmed_by_replicas: bool) -> Self {
        Self { is_confirmed_by_replicas, posts: PhantomData }
    }
}

impl<'a> Verb for Sending<'a> {
    type Request = &'a Post;
    /// Whether there was room.
    type Reply = bool;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::SEND
    }

    fn election<'r>(request: &'r &'a Post) -> &'r ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(WAITING_MAX);
        command.arg(if self.is_confirmed_by_replicas { "1" } else { "0" });
    }

    fn pack(&self, request: &&'a Post, command: &mut Cmd) {
        command.arg(request.id.to_string());
        command.arg(request.channel.as_str());
        command.arg(request.sender.as_str());
        command.arg(&*request.payload);
    }

    fn read(answer: &Value) -> Result<bool, Fault> {
        reply::send(answer)
    }
}

pub(super) struct Receiving<'a> {
    pub(super) wake: &'a str,
}

impl Verb for Receiving<'_> {
    type Request = Receive;
    /// Nothing for whoever does not lead.
    type Reply = Option<Vec<Message>>;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::RECEIVE
    }

    fn election(request: &Receive) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(self.wake);
    }

    fn pack(&self, request: &Receive, command: &mut Cmd) {
        pack_claim(request.nonce, request.term, command);
        command.arg(request.limit);
        command.arg(request.channels.len());
        for channel in &request.channels {
            command.arg(channel.as_str());
        }
        for line in &request.except {
            command.arg(line.channel.as_str()).arg(line.sender.as_str());
        }
    }

    fn read(answer: &Value) -> Result<Self::Reply, Fault> {
        reply::receive(answer)
    }
}

pub(super) struct Settling;

impl Verb for Settling {
    type Request = Settle;
    /// What was dropped; nothing for whoever does not lead.
    type Reply = Option<Vec<MessageId>>;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::SETTLE
    }

    fn election(request: &Settle) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(ASIDE_MAX);
    }

    fn pack(&self, request: &Settle, command: &mut Cmd) {
        pack_claim(request.nonce, request.term, command);
        for (id, fate) in &request.fates {
            command.arg(id.to_string());
            match fate {
                Fate::Done => command.arg("done").arg(0).arg(""),
                Fate::Failed { attempt, why } => command.arg("failed").arg(*attempt).arg(why),
                Fate::SetAside { attempt, why } => command.arg("aside").arg(*attempt).arg(why),
            };
        }
    }

    fn read(answer: &Value) -> Result<Self::Reply, Fault> {
        reply::settle(answer)
    }
}

pub(super) struct Listing {
    pub(super) shelf: Shelf,
    pub(super) limit: usize,
}

impl Verb for Listing {
    type Request = ElectionKey;
    type Reply = Vec<Message>;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::LIST_MESSAGES
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, command: &mut Cmd) {
        command.arg(match self.shelf {
            Shelf::Waiting => "messages",
            Shelf::Aside => "aside",
        });
        command.arg(self.limit);
    }

    fn read(answer: &Value) -> Result<Vec<Message>, Fault> {
        reply::messages(answer)
    }
}

/// How many messages wait, and how many lie aside.
pub(super) struct Counting;

impl Verb for Counting {
    type Request = ElectionKey;
    type Reply = (u64, u64);
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::COUNT_MESSAGES
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, _command: &mut Cmd) {}

    fn read(answer: &Value) -> Result<(u64, u64), Fault> {
        reply::counts(answer)
    }
}

pub(super) struct Requeueing<'a> {
    pub(super) ids: Option<&'a [MessageId]>,
}

impl Verb for Requeueing<'_> {
    type Request = ElectionKey;
    type Reply = u64;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::REQUEUE
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, command: &mut Cmd) {
        command.arg(if self.ids.is_some() { "some" } else { "all" });
        for id in self.ids.unwrap_or_default() {
            command.arg(id.to_string());
        }
    }

    fn read(answer: &Value) -> Result<u64, Fault> {
        reply::requeue(answer)
    }
}

/// What a leader says to be believed.
pub(super) fn pack_claim(nonce: Nonce, term: Term, command: &mut Cmd) {
    command.arg(hexadecimal(nonce)).arg(term.to_string());
}
