//! Drives the [inbox](Inbox) of a candidate: asks its questions of the store, and tells it of leaderships and of the time.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tenure_core::messages::{InboxInput, MailboxCall, MailboxCallId, MailboxReply};
use tenure_core::{Instant, Timing, WriteOutcome};

use super::inbox::{Inbox, PumpWork};
use crate::driver::DriverCommand;
use crate::event::ElectionError;
use crate::leadership::Leadership;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::store::{Mailbox, Store, StoreError};

/// Runs until the candidate has left the election.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>, timing: Timing) {
    let (Some(inbox), Some(mailbox)) = (shared.inbox(), store.mailbox()) else { return };
    // If this is not the first time, the last one panicked, and what it held may keep a lease.
    inbox.follow(&shared, None, InboxInput::Over);
    let mut pump = Pump { shared: &shared, inbox, mailbox, timing, leadership: None, call: None };
    let mut reply = None;
    loop {
        inbox.pushes(store.capabilities().pushes);
        pump.take_in(reply);
        if pump.follow_phase() {
            return;
        }
        reply = pump.wait().await;
    }
}

/// The messages of one candidacy, under all its leaderships.
struct Pump<'a> {
    shared: &'a Arc<Shared>,
    inbox: &'a Inbox,
    mailbox: &'a dyn Mailbox,
    timing: Timing,
    /// The leadership that is not over.
    leadership: Option<Leadership>,
    call: Option<BoxFuture<'a, (MailboxCallId, MailboxAnswer)>>,
}

/// What a store has answered, and the error in it.
struct MailboxAnswer {
    reply: MailboxReply,
    error: Option<StoreError>,
}

impl Pump<'_> {
    /// Tells the inbox what the store has answered, or that time has passed.
    fn take_in(&mut self, reply: Option<(MailboxCallId, MailboxAnswer)>) {
        let input = match reply {
            Some((call, MailboxAnswer { reply, error })) => {
                let report = |error| DriverCommand::Error(self.shared.id, ElectionError::Store(error));
                error.into_iter().for_each(|error| self.shared.send(report(error)));
                InboxInput::Reply { call, reply }
            }
            None => InboxInput::Timeout,
        };
        self.inbox.handle(self.shared, input);
    }

    /// Tells the inbox of leaderships that begin or are over. Returns whether the candidate has left.
    fn follow_phase(&mut self) -> bool {
        let phase = self.shared.phase().read(Phase::clone);
        if self.leadership.take_if(|leadership| leadership.is_over(&phase)).is_some() {
            self.call = None;
            self.inbox.follow(self.shared, None, InboxInput::Over);
        }
        if let Phase::Leading(grant) = &phase
            && self.leadership.is_none()
        {
            self.leadership = Some(Leadership::new(Arc::clone(self.shared), Arc::clone(grant)));
            if let Some(nonce) = grant.nonce() {
                let elected = InboxInput::Elected { nonce, term: grant.term, timing: self.timing };
                self.inbox.follow(self.shared, Some(Arc::clone(grant)), elected);
            }
        }
        matches!(phase, Phase::Stopped)
    }

    /// Waits until there is something to tell the inbox. Returns what the store has answered, if it has.
    async fn wait(&mut self) -> Option<(MailboxCallId, MailboxAnswer)> {
        let PumpWork { call, alarm, .. } = self.inbox.pump_work(self.shared);
        if let Some((id, call)) = call {
            self.call = Some(ask(self.mailbox, call).map(move |answer| (id, answer)).boxed());
        }
        let Self { shared, inbox, leadership, call, .. } = self;
        let replied = pin!(async {
            match call {
                Some(call) => call.await,
                None => std::future::pending().await,
            }
        });
        let followed = pin!(shared.phase().wait_until(|phase| match &leadership {
            Some(leadership) => leadership.is_over(phase),
            None => matches!(phase, Phase::Leading(_) | Phase::Stopped),
        }));
        let (changed, rung) = (pin!(inbox.changed.notified()), pin!(ring(shared, alarm)));
        match select(replied, select(followed, select(changed, rung))).await {
            Either::Left((reply, _)) => {
                self.call = None;
                Some(reply)
            }
            Either::Right(_) => None,
        }
    }
}

/// Waits for an alarm. Others have a turn meanwhile, also if its time has come.
async fn ring(shared: &Shared, alarm: Option<Instant>) {
    match alarm {
        Some(at) if at <= shared.clock.now() => tokio::task::yield_now().await,
        Some(at) => shared.clock.sleep_until(at).await,
        None => std::future::pending().await,
    }
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
    let outcome = failure.write_outcome();
    *error = Some(failure);
    outcome
}
