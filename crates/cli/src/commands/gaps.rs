//! What a store keeps no record of: said once, so that nobody takes an empty answer for the truth.

use tenure::Client;
use tenure::store::Feature;

use crate::stderr_writer::say;

/// Says in one sentence what the store cannot tell of what was asked for.
pub(super) fn tell(client: &Client, asked: &[Feature]) {
    let missing: Vec<&str> =
        asked.iter().filter(|feature| lacks(client, **feature)).filter_map(|feature| in_words(*feature)).collect();
    if let Some((last, others)) = missing.split_last() {
        let all = if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) };
        say(&format!("the {} store writes nothing down, so it cannot tell {all}", client.capabilities().name));
    }
}

/// Says that messages are not listed anywhere, if that is so.
pub(super) fn tell_of_messages(client: &Client) {
    if !keeps_messages(client) {
        let name = client.capabilities().name;
        say(&format!("the {name} store keeps no messages: they reach whoever leads when they are sent, or nobody"));
    }
}

/// Whether the store cannot tell it.
pub(super) fn lacks(client: &Client, feature: Feature) -> bool {
    client.capabilities().lacks.contains(&feature)
}

/// Whether messages wait in the store.
pub(super) fn keeps_messages(client: &Client) -> bool {
    client.mailbox().is_some_and(|promises| promises.durable)
}

fn in_words(feature: Feature) -> Option<&'static str> {
    Some(match feature {
        Feature::Records => "which elections there are (some may be led that are not listed; name one to look at it)",
        Feature::StandBys => "who stands by",
        Feature::Deadlines => "how long leases still run",
        Feature::Metadata => "what leaders publish",
        Feature::History => "who led before and why that ended",
        _ => return None,
    })
}
