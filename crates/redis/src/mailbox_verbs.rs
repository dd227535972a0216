//! The commands for each operation on messages, and their replies.

use std::marker::PhantomData;

use redis::{Cmd, Value};
use tenure_store::mailbox::{
    Ack, AckOutcome, MAX_DEAD_LETTERS, MAX_PENDING, Message, MessageId, MessageState, NewMessage, Receive,
};
use tenure_store::{ElectionKey, Nonce, Term};

use super::error::RedisStoreError;
use super::keys::MESSAGE_KEYS;
use super::lease_verbs::{ScriptVerb, hexadecimal};
use super::mailbox_reply as reply;
use super::script::{self, Script};

pub(super) struct SendVerb<'a> {
    is_confirmed_by_replicas: bool,
    new_messages: PhantomData<&'a NewMessage>,
}

impl SendVerb<'_> {
    pub(super) fn new(is_confirmed_by_replicas: bool) -> Self {
        Self { is_confirmed_by_replicas, new_messages: PhantomData }
    }
}

impl<'a> ScriptVerb for SendVerb<'a> {
    type Request = &'a NewMessage;
    /// Whether there was room.
    type Reply = bool;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::SEND
    }

    fn election<'r>(request: &'r &'a NewMessage) -> &'r ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(MAX_PENDING);
        command.arg(if self.is_confirmed_by_replicas { "1" } else { "0" });
    }

    fn pack(&self, request: &&'a NewMessage, command: &mut Cmd) {
        command.arg(request.id.to_string());
        command.arg(request.channel.as_str());
        command.arg(request.sender.as_str());
        command.arg(&*request.payload);
    }

    fn read(answer: &Value) -> Result<bool, RedisStoreError> {
        reply::send(answer)
    }
}

pub(super) struct ReceiveVerb<'a> {
    pub(super) wake: &'a str,
}

impl ScriptVerb for ReceiveVerb<'_> {
    type Request = Receive;
    /// `None` if the caller does not lead.
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

    fn read(answer: &Value) -> Result<Self::Reply, RedisStoreError> {
        reply::receive(answer)
    }
}

pub(super) struct AckVerb;

impl ScriptVerb for AckVerb {
    type Request = Ack;
    /// The dropped messages; `None` if the caller does not lead.
    type Reply = Option<Vec<MessageId>>;
    const BESIDE: &'static [&'static str] = MESSAGE_KEYS;

    fn script() -> &'static Script {
        &script::SETTLE
    }

    fn election(request: &Ack) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(MAX_DEAD_LETTERS);
    }

    fn pack(&self, request: &Ack, command: &mut Cmd) {
        pack_claim(request.nonce, request.term, command);
        for (id, outcome) in &request.outcomes {
            command.arg(id.to_string());
            match outcome {
                AckOutcome::Done => command.arg("done").arg(0).arg(""),
                AckOutcome::Failed { attempt, why } => command.arg("failed").arg(*attempt).arg(why),
                AckOutcome::DeadLettered { attempt, why } => command.arg("dead-lettered").arg(*attempt).arg(why),
            };
        }
    }

    fn read(answer: &Value) -> Result<Self::Reply, RedisStoreError> {
        reply::ack(answer)
    }
}

pub(super) struct ListMessagesVerb {
    pub(super) state: MessageState,
    pub(super) limit: usize,
}

impl ScriptVerb for ListMessagesVerb {
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
        command.arg(match self.state {
            MessageState::Pending => "messages",
            MessageState::DeadLetter => "aside",
        });
        command.arg(self.limit);
    }

    fn read(answer: &Value) -> Result<Vec<Message>, RedisStoreError> {
        reply::messages(answer)
    }
}

/// How many messages wait, and how many are dead letters.
pub(super) struct Counting;

impl ScriptVerb for Counting {
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

    fn read(answer: &Value) -> Result<(u64, u64), RedisStoreError> {
        reply::counts(answer)
    }
}

pub(super) struct RequeueVerb<'a> {
    pub(super) ids: Option<&'a [MessageId]>,
}

impl ScriptVerb for RequeueVerb<'_> {
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

    fn read(answer: &Value) -> Result<u64, RedisStoreError> {
        reply::requeue(answer)
    }
}

/// The arguments that identify a leader.
pub(super) fn pack_claim(nonce: Nonce, term: Term, command: &mut Cmd) {
    command.arg(hexadecimal(nonce)).arg(term.to_string());
}
