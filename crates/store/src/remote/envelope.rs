//! A broadcast as one text: its id, channel and sender, each on its own line, and the payload.

use std::sync::Arc;

use tenure_core::{ChannelName, Sender};

use crate::{Broadcast, ElectionKey, MessageId};

/// The maximum overhead over the payload: an id, the longest names, and three line breaks.
pub const MAX_ENVELOPE_BYTES: usize = 32 + tenure_core::MAX_CHANNEL_BYTES + tenure_core::MAX_NAME_BYTES + 3;

/// Names hold no line breaks, so the payload begins after the third.
pub fn seal(broadcast: &Broadcast) -> String {
    let Broadcast { id, channel, sender, payload, .. } = broadcast;
    format!("{id}\n{channel}\n{sender}\n{payload}")
}

/// The opposite of [`seal`]; `None` for foreign text.
pub fn open(key: &ElectionKey, text: &str) -> Option<Broadcast> {
    let mut lines = text.splitn(4, '\n');
    let mut line = || lines.next();
    Some(Broadcast {
        key: key.clone(),
        id: line()?.parse::<MessageId>().ok()?,
        channel: ChannelName::new(line()?).ok()?,
        sender: Sender::new(line()?).ok()?,
        payload: Arc::from(line()?),
    })
}

#[cfg(test)]
mod tests {
    use tenure_core::{ElectionName, Namespace};

    use super::*;

    #[test]
    fn what_is_sealed_can_be_opened_and_nothing_else() {
        let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly").unwrap() };
        for payload in ["", "1", "{\n\"a\":\r\n\n1}\n", "\"🦀\""] {
            let broadcast = Broadcast {
                key: key.clone(),
                id: MessageId::from_bits(u128::MAX),
                channel: ChannelName::new("re fresh").unwrap(),
                sender: Sender::new("x".repeat(200)).unwrap(),
                payload: Arc::from(payload),
            };
            assert_eq!(open(&key, &seal(&broadcast)), Some(broadcast));
        }
        let id = MessageId::from_bits(1);
        for text in ["", "probe", &format!("{id}\na\nb"), &format!("{id}\n\nb\n1"), "ff\na\nb\n1"] {
            assert_eq!(open(&key, text), None, "{text:?}");
        }
    }

    #[test]
    fn an_envelope_is_never_larger_than_it_may_be() {
        let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly").unwrap() };
        let (channel, sender) = (ChannelName::new("c".repeat(63)).unwrap(), Sender::new("s".repeat(200)).unwrap());
        let broadcast = Broadcast { key, id: crate::random_message_id(), channel, sender, payload: Arc::from("1") };
        assert_eq!(seal(&broadcast).len(), MAX_ENVELOPE_BYTES + 1);
    }
}
