//! Faults that can happen to calls, and the calls they can happen to.

use std::fmt;
use std::time::Duration;

use crate::StoreError;

/// The operations of a store that faults can be injected into and that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`Store::campaign`](crate::Store::campaign).
    Campaign,
    /// [`Store::renew`](crate::Store::renew).
    Renew,
    /// [`Store::resign`](crate::Store::resign).
    Resign,
    /// [`Store::observe`](crate::Store::observe).
    Observe,
    /// [`Store::elections`](crate::Store::elections).
    Elections,
    /// [`Store::request_handover`](crate::Store::request_handover).
    RequestHandover,
    /// [`Store::history`](crate::Store::history).
    History,
    /// [`Store::forget`](crate::Store::forget).
    Forget,
    /// [`Store::raise_terms`](crate::Store::raise_terms).
    RaiseTerms,
    /// [`Mailbox::send`](crate::Mailbox::send).
    Send,
    /// [`Mailbox::receive`](crate::Mailbox::receive).
    Receive,
    /// [`Mailbox::ack`](crate::Mailbox::ack).
    Settle,
    /// [`Mailbox::list`](crate::Mailbox::list).
    ListMessages,
    /// [`Mailbox::counts`](crate::Mailbox::counts).
    CountMessages,
    /// [`Mailbox::requeue`](crate::Mailbox::requeue).
    Requeue,
    /// [`PubSub::broadcast`](crate::PubSub::broadcast).
    Broadcast,
    /// [`JobLedger::open`](crate::JobLedger::open).
    OpenJobs,
    /// [`JobLedger::claim`](crate::JobLedger::claim).
    Claim,
    /// [`JobLedger::finish`](crate::JobLedger::finish).
    Finish,
    /// [`JobLedger::jobs`](crate::JobLedger::jobs).
    ListJobs,
    /// [`JobLedger::forget`](crate::JobLedger::forget).
    ForgetJob,
    /// [`JobLedger::steer`](crate::JobLedger::steer).
    SteerJob,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Campaign,
        Self::Renew,
        Self::Resign,
        Self::Observe,
        Self::Elections,
        Self::RequestHandover,
        Self::History,
        Self::Forget,
        Self::RaiseTerms,
        Self::Send,
        Self::Receive,
        Self::Settle,
        Self::ListMessages,
        Self::CountMessages,
        Self::Requeue,
        Self::Broadcast,
        Self::OpenJobs,
        Self::Claim,
        Self::Finish,
        Self::ListJobs,
        Self::ForgetJob,
        Self::SteerJob,
    ];
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Campaign => "campaign",
            Self::Renew => "renew",
            Self::Resign => "resign",
            Self::Observe => "observe",
            Self::Elections => "list elections",
            Self::RequestHandover => "request a hand-over",
            Self::History => "history",
            Self::Forget => "forget",
            Self::RaiseTerms => "raise terms",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Settle => "ack",
            Self::ListMessages => "list messages",
            Self::CountMessages => "count messages",
            Self::Requeue => "requeue",
            Self::Broadcast => "broadcast",
            Self::OpenJobs => "open jobs",
            Self::Claim => "claim",
            Self::Finish => "finish",
            Self::ListJobs => "list jobs",
            Self::ForgetJob => "forget a job",
            Self::SteerJob => "steer a job",
        })
    }
}

/// What happens to a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fault {
    /// Never reaches the store; the caller gets an error at once.
    LoseRequest,
    /// Is executed, but the answer is lost; the caller gets an error with an unknown outcome.
    LoseReply,
    /// Is executed, but the caller never gets an answer, not even an error.
    SwallowReply,
    /// Never reaches the store, and the caller never gets an answer.
    BlackHole,
    /// Fails with this error without reaching the store.
    Fail(StoreError),
    /// Panics without reaching the store, as a faulty store might.
    Panic,
    /// Is executed twice; the caller gets the second answer.
    Duplicate,
    /// Is executed at once, but answered only after this much time on the clock of the
    /// [`FaultyStore`](super::FaultyStore).
    DelayReply(Duration),
    /// Is executed at once, but answered only after a [release](super::FaultyStore::release).
    HoldReply,
    /// Is executed only after a [release](super::FaultyStore::release), even if the caller has given up by then: the
    /// request was on its way.
    HoldRequest,
}
