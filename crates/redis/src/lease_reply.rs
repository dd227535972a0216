//! Decodes the replies of the scripts for leases.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use tenure_store::{
    CandidateId, Change, Forgetting, Handover, Held, Leader, Lease, MAX_NAME_BYTES, Metadata, Observation, Priority,
    RenewReply, StandBy, Term, Transition, Use,
};

use super::deployment::CallAnswer;
use super::error::RedisStoreError;

/// The result of a campaign.
#[derive(Debug)]
pub(super) enum RedisCampaignOutcome {
    Granted {
        term: Term,
        /// The election never had a leader, as far as the server knows.
        is_first: bool,
        /// The previous lease ran out without a resignation; it had this ttl.
        ran_out: Option<Duration>,
    },
    Held(Held, ForeignLease),
}

/// The condition of a lease held by another candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignLease {
    /// In order.
    None,
    /// Its holder belongs to another system, and will not announce that it leaves.
    Foreign,
    /// Its holder is one of ours. The lease had lost its expiry, which was restored.
    Mended,
    /// It is foreign, and has no expiry.
    Endless,
}

/// The state of an election, and whether its lease is foreign and has no expiry.
#[derive(Debug)]
pub(super) struct ObservedElection {
    pub(super) observation: Observation,
    pub(super) is_endless: bool,
}

/// The answers to one call.
pub(super) struct CallReplies {
    pub(super) answers: Vec<Value>,
    /// The server's clock.
    pub(super) unix_ms: u64,
    /// The number of replicas that have the write, if requested.
    pub(super) replicas: Option<i64>,
    pub(super) server: Arc<str>,
}

impl CallReplies {
    /// Decodes an answer, if it belongs to this call.
    pub(super) fn of(answer: CallAnswer, number: u64, elections: usize) -> Result<Self, RedisStoreError> {
        let CallAnswer { value, replicas, server } = answer;
        let parts = match value {
            Value::Array(parts) => <[Value; 3]>::try_from(parts).map_err(|parts| nonsense(&Value::Array(parts)))?,
            Value::ServerError(error) => return Err(RedisStoreError::server(&error)),
            other => return Err(nonsense(&other)),
        };
        match parts {
            [own, time, Value::Array(answers)] if self::number(&own) == Some(number) && answers.len() == elections => {
                let unix_ms = self::number(&time).ok_or_else(|| nonsense(&time))?;
                Ok(Self { answers, unix_ms, replicas, server })
            }
            [own, ..] => {
                Err(RedisStoreError::Nonsense(format!("call {:?} when it was asked {number}", self::number(&own))))
            }
        }
    }
}

pub(super) fn campaign(answer: &Value) -> Result<RedisCampaignOutcome, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    match fields.number(0)? {
        1 => {
            let ran_out = fields.optional(3).and_then(number).map(millis);
            Ok(RedisCampaignOutcome::Granted { term: fields.term(1)?, is_first: fields.number(2)? == 1, ran_out })
        }
        2 => {
            let leader = Leader {
                candidate: fields.candidate(3)?,
                term: fields.term(4)?,
                since_unix_ms: Some(fields.number(5)?),
                metadata: metadata(fields.optional(6)),
            };
            let foreign_lease = match fields.number(7)? {
                0 => ForeignLease::None,
                1 => ForeignLease::Foreign,
                2 => ForeignLease::Mended,
                3 => ForeignLease::Endless,
                _ => return Err(nonsense(answer)),
            };
            Ok(RedisCampaignOutcome::Held(fields.held(Some(leader))?, foreign_lease))
        }
        3 => Ok(RedisCampaignOutcome::Held(fields.held(None)?, ForeignLease::None)),
        _ => Err(nonsense(answer)),
    }
}

pub(super) fn renew(answer: &Value) -> Result<RenewReply, RedisStoreError> {
    if let Value::Int(1) = answer {
        return Ok(RenewReply::Renewed { handover: None });
    }
    let fields = ReplyFields::of(answer)?;
    match fields.number(0)? {
        0 => Ok(RenewReply::NotHolder { current: Term::new(fields.number(1)?) }),
        1 => {
            let handover = fields.optional(1).map(|request| {
                let request = text(request);
                // A successor that is no name cannot be anybody's.
                Handover { successor: request.strip_prefix('>').and_then(|id| CandidateId::new(id).ok()) }
            });
            Ok(RenewReply::Renewed { handover })
        }
        _ => Err(nonsense(answer)),
    }
}

pub(super) fn resign(answer: &Value) -> Result<(), RedisStoreError> {
    ReplyFields::of(answer)?.number(0).map(drop)
}

pub(super) fn request_handover(answer: &Value) -> Result<bool, RedisStoreError> {
    match ReplyFields::of(answer)?.number(0)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(RedisStoreError::refused(
            "the leader is not a tenure candidate and cannot be asked to hand over; stop it instead",
        )),
    }
}

pub(super) fn raise_terms(answer: &Value) -> Result<bool, RedisStoreError> {
    Ok(ReplyFields::of(answer)?.number(0)? == 1)
}

pub(super) fn forget(answer: &Value) -> Result<Forgetting, RedisStoreError> {
    Ok(match ReplyFields::of(answer)?.number(0)? {
        0 => Forgetting::Unknown,
        1 => Forgetting::Forgotten,
        2 => Forgetting::InUse(Use::Led),
        3 => Forgetting::InUse(Use::StoodBy),
        4 => Forgetting::InUse(Use::Messages),
        5 => Forgetting::InUse(Use::Recent),
        other => return Err(RedisStoreError::Nonsense(format!("{other} when it was asked to forget an election"))),
    })
}

pub(super) fn observe(answer: &Value) -> Result<ObservedElection, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    let lease = match fields.optional(3) {
        Some(_) => Some(Lease {
            leader: Leader {
                candidate: fields.candidate(3)?,
                term: fields.term(8)?,
                since_unix_ms: Some(fields.number(6)?),
                metadata: metadata(fields.optional(7)),
            },
            term: Some(fields.term(8)?),
            remaining: Some(millis(fields.number(4)?)),
            ttl: Some(millis(fields.number(5)?)),
        }),
        None => None,
    };
    let Some(Value::Array(standing)) = fields.optional(2) else { return Err(nonsense(answer)) };
    let observation = Observation {
        lease,
        last_term: Term::new(fields.number(0)?),
        reserved_for: fields.optional(1).map(candidate),
        standing_by: standing.iter().map(stand_by).collect::<Result<_, _>>()?,
    };
    Ok(ObservedElection { observation, is_endless: fields.optional(9).and_then(number) == Some(1) })
}

/// One line of the history; `None` if we did not write it.
pub(super) fn transition(line: &str) -> Option<Transition> {
    let mut words = line.splitn(5, ' ');
    let at_unix_ms = words.next()?.parse().ok()?;
    let term = Term::new(words.next()?.parse().ok()?)?;
    let change =
        [Change::Elected, Change::Lost].into_iter().find(|change| Some(change.as_str()) == words.clone().next())?;
    let reason = words.nth(1)?.to_owned();
    Some(Transition { at_unix_ms, term, candidate: printable(words.next()?), change, reason })
}

fn stand_by(answer: &Value) -> Result<StandBy, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    let level = u8::try_from(fields.number(1)?).ok().and_then(Priority::new);
    Ok(StandBy {
        candidate: fields.candidate(0)?,
        priority: level.ok_or_else(|| nonsense(answer))?,
        since_unix_ms: fields.number(2)?,
    })
}

/// The fields of one answer, none of which is an error.
pub(super) struct ReplyFields<'a> {
    answer: &'a Value,
    fields: &'a [Value],
}

impl<'a> ReplyFields<'a> {
    pub(super) fn of(answer: &'a Value) -> Result<Self, RedisStoreError> {
        let Value::Array(fields) = answer else { return Err(nonsense(answer)) };
        match fields.as_slice() {
            [Value::Int(-1), Value::Int(0), why] => Err(RedisStoreError::refused(text(why))),
            [Value::Int(-1), Value::Int(_), why] => Err(RedisStoreError::CutShort { text: text(why).into_owned() }),
            fields => Ok(Self { answer, fields }),
        }
    }

    pub(super) fn all(&self) -> &'a [Value] {
        self.fields
    }

    pub(super) fn optional(&self, position: usize) -> Option<&'a Value> {
        self.fields.get(position).filter(|field| !matches!(field, Value::Nil))
    }

    pub(super) fn number(&self, position: usize) -> Result<u64, RedisStoreError> {
        self.optional(position).and_then(number).ok_or_else(|| nonsense(self.answer))
    }

    pub(super) fn term(&self, position: usize) -> Result<Term, RedisStoreError> {
        Term::new(self.number(position)?).ok_or_else(|| nonsense(self.answer))
    }

    pub(super) fn candidate(&self, position: usize) -> Result<CandidateId, RedisStoreError> {
        self.optional(position).map(candidate).ok_or_else(|| nonsense(self.answer))
    }

    fn held(&self, leader: Option<Leader>) -> Result<Held, RedisStoreError> {
        let rank = u32::try_from(self.number(1)?).unwrap_or(u32::MAX);
        Ok(Held { leader, remaining: millis(self.number(2)?), rank })
    }
}

pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

pub(super) fn text(value: &Value) -> std::borrow::Cow<'_, str> {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes),
        Value::SimpleString(text) => text.as_str().into(),
        _ => "".into(),
    }
}

fn candidate(value: &Value) -> CandidateId {
    printable(&text(value))
}

/// Foreign participants choose any id. An id that is not a valid name is made one.
fn printable(id: &str) -> CandidateId {
    CandidateId::new(id).unwrap_or_else(|_| {
        // No character takes more than four bytes, and one of them is the ellipsis.
        let mut escaped: String = id.escape_debug().take(MAX_NAME_BYTES / 4 - 1).collect();
        escaped.push('…');
        CandidateId::new(escaped).unwrap_or_else(|_| unreachable!("escaped text is printable and short"))
    })
}

/// Foreign metadata is not worth failing for.
fn metadata(value: Option<&Value>) -> Metadata {
    let read = |value| serde_json::from_str::<BTreeMap<String, String>>(&text(value)).ok();
    Arc::new(value.and_then(read).unwrap_or_default())
}

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

pub(super) fn nonsense(answer: &Value) -> RedisStoreError {
    let mut shown = format!("{answer:?}");
    shown.truncate(shown.floor_char_boundary(200));
    RedisStoreError::Nonsense(shown)
}

#[cfg(test)]
mod tests {
    use tenure_fuzz::Fuzz;

    use super::*;

    #[test]
    fn fuzz_redis_answers() {
        Fuzz::target("redis-answers")
            .words(&[
                "*3\r\n",
                "*7\r\n",
                "*0\r\n",
                ":1\r\n",
                ":2\r\n",
                ":-1\r\n",
                "$-1\r\n",
                "$1\r\n7\r\n",
                "$4\r\n\u{1f980}\r\n",
            ])
            .run(|input| {
                let Ok(value) = redis::parse_redis_value(input) else { return };
                // An answer or a fault, whatever the server says; and no answer but the one to this call.
                if let Ok(RedisCampaignOutcome::Granted { term, .. }) = campaign(&value) {
                    assert!((1..=Term::MAX).contains(&term.get()));
                }
                let _ = (renew(&value), resign(&value), request_handover(&value), observe(&value));
                let _ = transition(&String::from_utf8_lossy(input));
                let id = printable(&String::from_utf8_lossy(input));
                assert!(!id.as_str().is_empty() && id.as_str().len() <= MAX_NAME_BYTES);
                let answer = CallAnswer { value, replicas: None, server: "fuzz:1".into() };
                if let Ok(batch) = CallReplies::of(answer, 7, 2) {
                    assert_eq!(batch.answers.len(), 2);
                }
            });
    }

    #[test]
    fn an_answer_to_another_call_is_none_to_this_one() {
        let answer = |number: i64| {
            let value = Value::Array(vec![Value::Int(number), Value::Int(5), Value::Array(vec![Value::Int(1)])]);
            CallAnswer { value, replicas: None, server: "here:1".into() }
        };
        assert_eq!(CallReplies::of(answer(7), 7, 1).unwrap().unix_ms, 5);
        for (number, elections) in [(6, 1), (8, 1), (7, 2)] {
            assert!(
                matches!(CallReplies::of(answer(7), number, elections), Err(RedisStoreError::Nonsense(_))),
                "{number} {elections}"
            );
        }
    }
}
