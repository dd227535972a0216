//! Decodes the replies of the scripts for messages.

use std::sync::Arc;

use redis::Value;
use tenure_store::mailbox::{Message, MessageId};
use tenure_store::{ChannelName, Sender};

use super::error::RedisStoreError;
use super::lease_reply::{ReplyFields, nonsense, text};

/// Whether there was room.
pub(super) fn send(answer: &Value) -> Result<bool, RedisStoreError> {
    match ReplyFields::of(answer)?.number(0)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(nonsense(answer)),
    }
}

pub(super) fn receive(answer: &Value) -> Result<Option<Vec<Message>>, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    match (fields.number(0)?, fields.optional(1)) {
        (0, _) => Ok(None),
        (1, Some(found)) => messages(found).map(Some),
        _ => Err(nonsense(answer)),
    }
}

/// The messages that were dropped.
pub(super) fn ack(answer: &Value) -> Result<Option<Vec<MessageId>>, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    match (fields.number(0)?, fields.optional(1)) {
        (0, _) => Ok(None),
        (1, Some(Value::Array(dropped))) => dropped.iter().map(id).collect::<Result<_, _>>().map(Some),
        _ => Err(nonsense(answer)),
    }
}

pub(super) fn requeue(answer: &Value) -> Result<u64, RedisStoreError> {
    ReplyFields::of(answer)?.number(0)
}

/// How many wait, and how many are dead letters.
pub(super) fn counts(answer: &Value) -> Result<(u64, u64), RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    Ok((fields.number(0)?, fields.number(1)?))
}

pub(super) fn messages(answer: &Value) -> Result<Vec<Message>, RedisStoreError> {
    ReplyFields::of(answer)?.all().iter().map(message).collect()
}

fn message(answer: &Value) -> Result<Message, RedisStoreError> {
    let fields = ReplyFields::of(answer)?;
    let field = |position| fields.optional(position).ok_or_else(|| nonsense(answer));
    let name = |position| field(position).map(text);
    Ok(Message {
        id: id(field(0)?)?,
        channel: ChannelName::new(name(1)?).map_err(|_| nonsense(answer))?,
        sender: Sender::new(name(2)?).map_err(|_| nonsense(answer))?,
        payload: payload(field(3)?).ok_or_else(|| nonsense(answer))?,
        sent_at_unix_ms: fields.number(4)?,
        attempts: u32::try_from(fields.number(5)?).map_err(|_| nonsense(answer))?,
        last_error: fields.optional(6).map(|why| text(why).into_owned()),
    })
}

/// Byte for byte, or not at all.
pub(super) fn payload(value: &Value) -> Option<Arc<str>> {
    let Value::BulkString(bytes) = value else { return None };
    std::str::from_utf8(bytes).ok().map(Arc::from)
}

fn id(value: &Value) -> Result<MessageId, RedisStoreError> {
    text(value).parse().map_err(|_| nonsense(value))
}

#[cfg(test)]
mod tests {
    use tenure_fuzz::Fuzz;

    use super::*;

    #[test]
    fn fuzz_redis_messages() {
        Fuzz::target("redis-messages")
            .words(&[
                "*7\r\n",
                "*2\r\n",
                "*1\r\n",
                "*0\r\n",
                ":0\r\n",
                ":1\r\n",
                ":-1\r\n",
                "$-1\r\n",
                "$1\r\n7\r\n",
                "$32\r\n0123456789abcdef0123456789abcdef\r\n",
            ])
            .run(|input| {
                let Ok(value) = redis::parse_redis_value(input) else { return };
                // An answer or a fault, whatever the server says; and what is told of a message is what it has.
                let _ = (send(&value), ack(&value), requeue(&value), counts(&value));
                let found = messages(&value).into_iter().chain(receive(&value).into_iter().flatten()).flatten();
                for message in found {
                    assert!(!message.channel.as_str().is_empty() && !message.sender.as_str().is_empty());
                    assert!(message.payload.len() <= input.len());
                }
            });
    }
}
