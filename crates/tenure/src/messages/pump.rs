//! Drives the [inbox](Inbox) of a candidate: asks its questions of the store, and tells it of leaderships and of the time.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure_core::WriteOutcome;
use tenure_core::messages::{InboxInput, MailboxCall, MailboxCallId, MailboxReply};

use super::hints::MessageHints;
use super::inbox::{Inbox, PumpWork};
use crate::driver::{Beside, Companion};
use crate::event::ElectionError;
use crate::machine_loop::{CandidacyTurn, MachineLoop};
use crate::shared::Shared;
use crate::store::{Mailbox, StoreError};

/// Fetches the messages of a candidate, and hands them to its inbox.
#[derive(Debug)]
pub(crate) struct MessageCompanion {
    hints: Arc<MessageHints>,
}

impl MessageCompanion {
    pub(crate) fn new(hints: &Arc<MessageHints>) -> Self {
        Self { hints: Arc::clone(hints) }
    }
}

impl Companion for MessageCompanion {
    fn task_name(&self) -> &'static str {
        "the task that fetches messages"
    }

    fn run(self: Arc<Self>, beside: Beside) -> BoxFuture<'static, ()> {
        run(self, beside).boxed()
    }

    fn complaint(&self, shared: &Shared) -> Option<ElectionError> {
        let hung = shared.inbox().map_or(0, Inbox::running_handlers);
        let message = format!("has not returned although its time is up, on {hung} channel(s)");
        (hung > 0).then_some(ElectionError::Callback { callback: "message", message })
    }
}

/// Runs until the candidate has left the election.
async fn run(companion: Arc<MessageCompanion>, Beside { shared, store, timing }: Beside) {
    let (Some(inbox), Some(mailbox)) = (shared.inbox(), store.mailbox()) else { return };
    let _hinted = companion.hints.subscribe(&shared, &store);
    // If this is not the first time, the last one panicked, and what it held may keep a lease.
    inbox.follow(&shared, None, InboxInput::Over);
    let mut pump = MachineLoop::new(&shared);
    let mut reply = None;
    loop {
        inbox.pushes(store.capabilities().pushes);
        inbox.handle(&shared, input_of(&shared, reply));
        while let Some(turn) = pump.next_turn() {
            match turn {
                CandidacyTurn::Elected(grant) => {
                    if let Some(nonce) = grant.nonce() {
                        let elected = InboxInput::Elected { nonce, term: grant.term, timing };
                        inbox.follow(&shared, Some(grant), elected);
                    }
                }
                CandidacyTurn::Over => {
                    pump.give_up_call();
                    inbox.follow(&shared, None, InboxInput::Over);
                }
                CandidacyTurn::Left => return,
            }
        }
        let PumpWork { call, alarm, .. } = inbox.pump_work(&shared);
        if let Some((id, call)) = call {
            pump.call(ask(mailbox, call).map(move |answer| (id, answer)));
        }
        reply = pump.wait(&inbox.changed, alarm).await;
    }
}

/// What a store has answered, and the error in it.
struct MailboxAnswer {
    reply: MailboxReply,
    error: Option<StoreError>,
}

/// What the inbox is told: what the store has answered, or that time has passed.
fn input_of(shared: &Shared, reply: Option<(MailboxCallId, MailboxAnswer)>) -> InboxInput {
    let Some((call, MailboxAnswer { reply, error })) = reply else { return InboxInput::Timeout };
    error.into_iter().for_each(|error| shared.report(ElectionError::Store(error)));
    InboxInput::Reply { call, reply }
}

/// One call to the store.
async fn ask(mailbox: &dyn Mailbox, call: MailboxCall) -> MailboxAnswer {
    let mut error = None;
    let reply = match call {
        MailboxCall::Receive(request) => {
            MailboxReply::Received(mailbox.receive(&request).await.map_err(|failure| outcome(failure, &mut error)))
        }
        MailboxCall::Ack(request) => {
            MailboxReply::Acked(mailbox.ack(&request).await.map_err(|failure| outcome(failure, &mut error)))
        }
    };
    MailboxAnswer { reply, error }
}

/// What became of the write; the error is kept for people.
fn outcome(failure: StoreError, error: &mut Option<StoreError>) -> WriteOutcome {
    let outcome = failure.failure();
    *error = Some(failure);
    outcome
}
