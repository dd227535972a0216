//! The commands for each operation on leases, and their replies.

use std::fmt::Write;
use std::time::Duration;

use redis::{Cmd, Value};
use tenure_store::{Campaign, CandidateId, ElectionKey, Forgetting, Nonce, Renew, RenewReply, Resign, Term};

use super::error::RedisStoreError;
use super::keys::{ALL_KEYS, ELECTION_KEYS};
use super::lease_reply::{self, ObservedElection, RedisCampaignOutcome};
use super::script::{self, Script};

/// One of the scripts, with its input and output.
pub(super) trait ScriptVerb {
    type Request;
    type Reply;

    /// The keys of an election that it needs besides the lease.
    const BESIDE: &'static [&'static str] = ELECTION_KEYS;

    fn script() -> &'static Script;
    fn election(request: &Self::Request) -> &ElectionKey;
    /// Arguments that are the same for all elections of a batch.
    fn pack_head(&self, command: &mut Cmd);
    fn pack(&self, request: &Self::Request, command: &mut Cmd);
    fn read(answer: &Value) -> Result<Self::Reply, RedisStoreError>;
}

pub(super) struct CampaignVerb<'a> {
    pub(super) changes: &'a str,
    pub(super) wake: &'a str,
}

impl ScriptVerb for CampaignVerb<'_> {
    type Request = Campaign;
    type Reply = RedisCampaignOutcome;

    fn script() -> &'static Script {
        &script::CAMPAIGN
    }

    fn election(request: &Campaign) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(self.changes);
        command.arg(self.wake);
    }

    fn pack(&self, request: &Campaign, command: &mut Cmd) {
        command.arg(request.candidate.as_str());
        command.arg(hexadecimal(request.nonce));
        command.arg(millis(request.ttl));
        command.arg(request.priority.level());
        // A map of texts can always be written as JSON.
        command.arg(serde_json::to_vec(&*request.metadata).unwrap_or_default());
        command.arg(millis_if_any(request.stand_by_for));
    }

    fn read(answer: &Value) -> Result<RedisCampaignOutcome, RedisStoreError> {
        lease_reply::campaign(answer)
    }
}

pub(super) struct RenewVerb;

impl ScriptVerb for RenewVerb {
    type Request = Renew;
    type Reply = RenewReply;
    const BESIDE: &'static [&'static str] = &["election"];

    fn script() -> &'static Script {
        &script::RENEW
    }

    fn election(request: &Renew) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, request: &Renew, command: &mut Cmd) {
        let mut claim = String::with_capacity(80);
        push_hexadecimal(request.nonce, &mut claim);
        // Writing to a text cannot fail.
        let _ = write!(claim, " {} {}", request.term, millis(request.ttl));
        command.arg(claim).arg(millis(request.ttl));
    }

    fn read(answer: &Value) -> Result<RenewReply, RedisStoreError> {
        lease_reply::renew(answer)
    }
}

/// Tells the server how to wake holders that were granted their leases before they could be woken.
pub(super) struct WakeVerb<'a> {
    pub(super) wake: &'a str,
}

impl ScriptVerb for WakeVerb<'_> {
    type Request = Renew;
    type Reply = ();
    const BESIDE: &'static [&'static str] = &["election"];

    fn script() -> &'static Script {
        &script::WAKE
    }

    fn election(request: &Renew) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(self.wake);
    }

    fn pack(&self, request: &Renew, command: &mut Cmd) {
        command.arg(hexadecimal(request.nonce)).arg(request.term.get());
    }

    fn read(answer: &Value) -> Result<(), RedisStoreError> {
        lease_reply::resign(answer)
    }
}

pub(super) struct ResignVerb<'a> {
    pub(super) changes: &'a str,
    pub(super) sees_subscribers: bool,
}

impl ScriptVerb for ResignVerb<'_> {
    type Request = Resign;
    type Reply = ();

    fn script() -> &'static Script {
        &script::RESIGN
    }

    fn election(request: &Resign) -> &ElectionKey {
        &request.key
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(self.changes);
        command.arg(if self.sees_subscribers { "1" } else { "0" });
    }

    fn pack(&self, request: &Resign, command: &mut Cmd) {
        command.arg(hexadecimal(request.nonce));
        command.arg(request.term.map(|term| term.to_string()).unwrap_or_default());
        command.arg(request.successor.as_ref().map_or("", CandidateId::as_str));
        command.arg(request.reason.as_str());
    }

    fn read(answer: &Value) -> Result<(), RedisStoreError> {
        lease_reply::resign(answer)
    }
}

pub(super) struct ObserveVerb;

/// If a lease was made without an expiry, an occasional look has to do.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

impl ScriptVerb for ObserveVerb {
    type Request = ElectionKey;
    type Reply = ObservedElection;

    fn script() -> &'static Script {
        &script::OBSERVE
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(millis(LOOK_AGAIN));
    }

    fn pack(&self, _request: &ElectionKey, _command: &mut Cmd) {}

    fn read(answer: &Value) -> Result<ObservedElection, RedisStoreError> {
        lease_reply::observe(answer)
    }
}

pub(super) struct RequestHandoverVerb<'a> {
    pub(super) successor: Option<&'a CandidateId>,
}

impl ScriptVerb for RequestHandoverVerb<'_> {
    type Request = ElectionKey;
    type Reply = bool;

    fn script() -> &'static Script {
        &script::REQUEST_HANDOVER
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, _command: &mut Cmd) {}

    fn pack(&self, _request: &ElectionKey, command: &mut Cmd) {
        command.arg(self.successor.map(|successor| format!(">{successor}")).unwrap_or_default());
    }

    fn read(answer: &Value) -> Result<bool, RedisStoreError> {
        lease_reply::request_handover(answer)
    }
}

pub(super) struct ForgetElectionVerb {
    pub(super) idle_for: Duration,
}

impl ScriptVerb for ForgetElectionVerb {
    type Request = ElectionKey;
    type Reply = Forgetting;
    const BESIDE: &'static [&'static str] = ALL_KEYS;

    fn script() -> &'static Script {
        &script::FORGET
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(millis_if_any(self.idle_for));
    }

    fn pack(&self, _request: &ElectionKey, _command: &mut Cmd) {}

    fn read(answer: &Value) -> Result<Forgetting, RedisStoreError> {
        lease_reply::forget(answer)
    }
}

pub(super) struct RaiseTermsVerb {
    pub(super) above: Term,
}

impl ScriptVerb for RaiseTermsVerb {
    type Request = ElectionKey;
    type Reply = bool;
    const BESIDE: &'static [&'static str] = &["election"];

    fn script() -> &'static Script {
        &script::RAISE_TERMS
    }

    fn election(request: &ElectionKey) -> &ElectionKey {
        request
    }

    fn pack_head(&self, command: &mut Cmd) {
        command.arg(self.above.get());
    }

    fn pack(&self, _request: &ElectionKey, _command: &mut Cmd) {}

    fn read(answer: &Value) -> Result<bool, RedisStoreError> {
        lease_reply::raise_terms(answer)
    }
}

pub(super) fn hexadecimal(nonce: Nonce) -> String {
    let mut digits = String::with_capacity(32);
    push_hexadecimal(nonce, &mut digits);
    digits
}

/// Written by hand, because at ten thousand renewals a second formatting 128 bits is noticeable.
fn push_hexadecimal(nonce: Nonce, text: &mut String) {
    for byte in nonce.to_bits().to_be_bytes() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
}

/// Whole milliseconds, rounded up, and never more than the server can add to its clock.
fn millis(duration: Duration) -> u64 {
    const CENTURY_MS: u64 = 100 * 365 * 86_400_000;
    u64::try_from(duration.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX).clamp(1, CENTURY_MS)
}

/// The same for a time that may be absent.
fn millis_if_any(duration: Duration) -> u64 {
    if duration.is_zero() { 0 } else { millis(duration) }
}
