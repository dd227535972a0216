//! Gaps in the records of a store, reported once, so that an empty answer is not taken for the truth.

use tenure::Client;
use tenure::store::Feature;

use crate::stderr_writer::say;

/// Says in one sentence what the store cannot tell of what was asked for.
pub(super) fn tell(client: &Client, asked: &[Feature]) {
    let missing: Vec<&str> =
        asked.iter().filter(|feature| lacks(client, **feature)).filter_map(|feature| in_words(*feature)).collect();
    if let Some((last, others)) = missing.split_last() {
        let all = if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) };
        say(&format!("the {} store keeps no records, so it cannot tell {all}", client.store().capabilities().name));
    }
}

/// Says that messages are not listed anywhere, if that is so.
pub(super) fn tell_of_messages(client: &Client) {
    if !keeps_messages(client) {
        let name = client.store().capabilities().name;
        say(&format!("the {name} store keeps no messages: they reach the leader at the time of sending, or are lost"));
    }
}

/// Whether the store cannot tell it.
pub(super) fn lacks(client: &Client, feature: Feature) -> bool {
    client.store().capabilities().lacks.contains(&feature)
}

/// Whether messages wait in the store.
pub(super) fn keeps_messages(client: &Client) -> bool {
    client.store().mailbox().is_some_and(|promises| promises.durable)
}

fn in_words(feature: Feature) -> Option<&'static str> {
    Some(match feature {
        Feature::Records => {
            "which elections there are (some with a leader may be missing from the list; give a name to see one)"
        }
        Feature::StandBys => "who stands by",
        Feature::Deadlines => "how long leases remain valid",
        Feature::Metadata => "what leaders publish",
        Feature::History => "who led before and why their leadership ended",
        _ => return None,
    })
}
