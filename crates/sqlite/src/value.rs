//! Conversion between values and columns. No content of a file makes decoding panic: values that tenure never wrote
//! are errors.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_store::{CandidateId, Change, Instant, MessageId, Metadata, Nonce, Priority, Term};

use super::error::SqliteStoreError;
use tenure_store::record::ProcessToken;

/// Numbers above 2^63 are kept as 2^63: instants and durations reach that after 292 years.
pub(super) fn from_u64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn from_instant(instant: Instant) -> i64 {
    from_u64(instant.as_nanos())
}

pub(super) fn from_duration(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

pub(super) fn from_nonce(nonce: Nonce) -> [u8; 16] {
    nonce.to_bits().to_be_bytes()
}

pub(super) fn from_process(process: ProcessToken) -> [u8; 16] {
    process.0.to_be_bytes()
}

pub(super) fn from_metadata(metadata: &Metadata) -> Result<String, SqliteStoreError> {
    serde_json::to_string(&**metadata).map_err(|_| SqliteStoreError::Nonsense("metadata that is not JSON".to_owned()))
}

pub(super) fn to_u64(number: i64) -> Result<u64, SqliteStoreError> {
    u64::try_from(number).map_err(|_| nonsense(&format!("the negative number {number}")))
}

pub(super) fn to_u32(number: i64) -> Result<u32, SqliteStoreError> {
    u32::try_from(number).map_err(|_| nonsense("a number out of range"))
}

pub(super) fn to_instant(number: i64) -> Result<Instant, SqliteStoreError> {
    to_u64(number).map(Instant::from_nanos)
}

pub(super) fn to_duration(number: i64) -> Result<Duration, SqliteStoreError> {
    to_u64(number).map(Duration::from_nanos)
}

pub(super) fn to_term(number: i64) -> Result<Term, SqliteStoreError> {
    to_u64(number)
        .ok()
        .and_then(Term::new)
        .ok_or_else(|| nonsense(&format!("the term {number}, which is out of range")))
}

pub(super) fn to_nonce(bytes: &[u8]) -> Result<Nonce, SqliteStoreError> {
    to_u128(bytes).map(Nonce::from_bits).ok_or_else(|| nonsense("a nonce of the wrong length"))
}

pub(super) fn to_process(bytes: &[u8]) -> Result<ProcessToken, SqliteStoreError> {
    to_u128(bytes).map(ProcessToken).ok_or_else(|| nonsense("a process token of the wrong length"))
}

pub(super) fn to_message_id(bytes: &[u8]) -> Result<MessageId, SqliteStoreError> {
    to_u128(bytes).map(MessageId::from_bits).ok_or_else(|| nonsense("a message id of the wrong length"))
}

pub(super) fn to_candidate(text: &str) -> Result<CandidateId, SqliteStoreError> {
    CandidateId::new(text).map_err(|error| SqliteStoreError::Nonsense(error.to_string()))
}

pub(super) fn to_priority(level: i64) -> Result<Priority, SqliteStoreError> {
    u8::try_from(level).ok().and_then(Priority::new).ok_or_else(|| nonsense("a priority out of range"))
}

pub(super) fn to_metadata(text: &str) -> Result<Metadata, SqliteStoreError> {
    let metadata: BTreeMap<String, String> =
        serde_json::from_str(text).map_err(|_| nonsense("metadata that is not a JSON object of strings"))?;
    Ok(Metadata::new(metadata))
}

pub(super) fn to_change(word: &str) -> Result<Change, SqliteStoreError> {
    [Change::Elected, Change::Lost]
        .into_iter()
        .find(|change| change.as_str() == word)
        .ok_or_else(|| nonsense("an invalid change of leadership"))
}

pub(super) fn nonsense(what: &str) -> SqliteStoreError {
    SqliteStoreError::Nonsense(what.to_owned())
}

fn to_u128(bytes: &[u8]) -> Option<u128> {
    bytes.try_into().ok().map(u128::from_be_bytes)
}
