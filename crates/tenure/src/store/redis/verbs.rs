//! What each verb sends to the server, and what comes back.

use std::time::Duration;

use redis::Value;
use tenure_core::{CandidateId, Nonce, RenewReply};

use super::super::{Campaign, ElectionKey, Observation, Renew, Resign};
use super::error::Fault;
use super::keys::KEYS_PER_ELECTION;
use super::reply::{self, Outcome};
use super::script::{self, Input, Script};

/// One of the scripts, with what goes into it and what comes out of it.
pub(super) trait Verb {
    type Request;
    type Reply;

    /// How many keys of an election it needs.
    const KEYS: usize = KEYS_PER_ELECTION;

    fn script() -> &'static Script;
    fn election(request: &Self::Request) -> &ElectionKey;
    /// What is the same for all elections of a batch.
    fn pack_head(&self, input: &mut Input);
    fn pack(&self, request: &Self::Request, input: &mut Input);
    fn read(answer: &Value) -> Result<Self::Reply, Fault>;
}

pub(super) struct Campaigning<'a> {
    pub(super) changes: &'a str,
    pub(super) wake: &'a str,
}

impl Verb for Campaigning<'_> {
    type Request = Campaign;
    type Reply = Outcome;

    fn script() -> &'static Script {
        &script::CAMPAIGN
    }

    fn election(request: &Campaign) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, input: &mut Input) {
        input.argument(self.changes);
        input.argument(self.wake);
    }

    fn pack(&self, request: &Campaign, input: &mut Input) {
        input.argument(request.candidate.as_str());
        input.argument(hexadecimal(request.nonce));
        input.argument(millis(request.ttl));
        input.argument(request.priority.level().to_string());
        // A map of texts can always be written as JSON.
        input.argument(serde_json::to_vec(&*request.metadata).unwrap_or_default());
        input.argument(millis(request.stand_by_for));
    }

    fn read(answer: &Value) -> Result<Outcome, Fault> {
        reply::campaign(answer)
    }
}

pub(super) struct Renewing;

impl Verb for Renewing {
    type Request = Renew;
    type Reply = RenewReply;
    const KEYS: usize = 2;

    fn script() -> &'static Script {
        &script::RENEW
    }

    fn election(request: &Renew) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, _input: &mut Input) {}

    fn pack(&self, request: &Renew, input: &mut Input) {
        input.argument(hexadecimal(request.nonce));
        input.argument(request.term.to_string());
        input.argument(millis(request.ttl));
    }

    fn read(answer: &Value) -> Result<RenewReply, Fault> {
        reply::renew(answer)
    }
}

pub(super) struct Resigning<'a> {
    pub(super) changes: &'a str,
    pub(super) sees_subscribers: bool,
}

impl Verb for Resigning<'_> {
    type Request = Resign;
    type Reply = ();

    fn script() -> &'static Script {
        &script::RESIGN
    }

    fn election(request: &Resign) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, input: &mut Input) {
        input.argument(self.changes);
        input.argument(if self.sees_subscribers { "1" } else { "0" });
    }

    fn pack(&self, request: &Resign, input: &mut Input) {
        input.argument(hexadecimal(request.nonce));
        input.argument(request.term.map(|term| term.to_string()).unwrap_or_default());
        input.argument(request.successor.as_ref().map_or("", CandidateId::as_str));
        input.argument(request.reason.as_str());
    }

    fn read(answer: &Value) -> Result<(), Fault> {
        reply::resign(answer)
    }
}

pub(super) struct Observing;

/// Where somebody made a lease without an expiry, a look now and then has to do.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

impl Verb for Observing {
    type Request = ElectionKey;
    type Reply = Observation;

    fn script() -> &'static Script {
        &script::OBSERVE
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, input: &mut Input) {
        input.argument(millis(LOOK_AGAIN));
    }

    fn pack(&self, _request: &ElectionKey, _input: &mut Input) {}

    fn read(answer: &Value) -> Result<Observation, Fault> {
        reply::observe(answer)
    }
}

pub(super) struct RequestingHandover<'a> {
    pub(super) successor: Option<&'a CandidateId>,
}

impl Verb for RequestingHandover<'_> {
    type Request = ElectionKey;
    type Reply = bool;

    fn script() -> &'static Script {
        &script::REQUEST_HANDOVER
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _input: &mut Input) {}

    fn pack(&self, _request: &ElectionKey, input: &mut Input) {
        input.argument(self.successor.map(|successor| format!(">{successor}")).unwrap_or_default());
    }

    fn read(answer: &Value) -> Result<bool, Fault> {
        reply::request_handover(answer)
    }
}

fn hexadecimal(nonce: Nonce) -> String {
    format!("{:032x}", nonce.to_bits())
}

/// Whole milliseconds, never too few, and never more than the server can add to its clock.
fn millis(duration: Duration) -> String {
    const CENTURY_MS: u128 = 100 * 365 * 86_400_000;
    duration.as_micros().div_ceil(1_000).clamp(1, CENTURY_MS).to_string()
}
