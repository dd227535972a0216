//! While somebody leads and nothing new goes wrong, no message is left behind: on every channel on which one waits, something
//! happens.

use std::collections::BTreeMap;

use tenure_core::ChannelName;
use tenure_core::store_rules::mailbox::SendReply;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::store::{MailReply, MailRequest};
use crate::world::View;

#[derive(Default)]
pub(crate) struct MessagesLive {
    /// Who was elected last, and when.
    elected: Option<(usize, SimTime)>,
    /// When something last happened.
    moved: BTreeMap<ChannelName, SimTime>,
    looked_at: SimTime,
}

/// Looking at every instant would take longer than the rest of the simulation.
const LOOK_EVERY: u64 = SECOND / 2;
/// How long an inbox rests after many failures, on a slow clock.
const MAX_PAUSE: u64 = 34 * SECOND;

impl MessagesLive {
    fn look(&self, world: &View<'_>) -> Result<(), String> {
        let Some(mail) = world.mail else { return Ok(()) };
        let Some((node, elected_at)) = self.elected.filter(|(node, _)| world.can_fire(*node)) else { return Ok(()) };
        let quiet_since = elected_at.max(world.disturbed_at).max(world.mail_disturbed_at).max(world.jolted_at);
        let look_every = if mail.pushes { world.ttl(node) } else { world.ttl(node).min(SECOND) };
        let longest = mail.lasts + look_every * 5 / 4 + 5 * world.attempt(node) + MAX_PAUSE + 6 * SECOND;
        for message in world.mailbox().pending.values() {
            let moved_at = self.moved.get(&message.channel).copied().unwrap_or_default();
            let since = quiet_since.max(moved_at);
            if world.now > since + longest {
                let (id, name, seconds) = (message.id, world.name(node), (world.now - since) as f64 / 1e9);
                return Err(format!("{id} waits, and {name} has led and done nothing about it for {seconds:.1} s"));
            }
        }
        Ok(())
    }

    fn moves(&mut self, world: &View<'_>, channel: &ChannelName) {
        self.moved.insert(channel.clone(), world.now);
    }
}

impl Invariant for MessagesLive {
    fn name(&self) -> &'static str {
        "messages-live"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Elected { node, .. } => self.elected = Some((node, world.now)),
            Occurrence::HandedOut(delivery) | Occurrence::Handled { delivery, .. } => {
                self.moves(world, &delivery.message.channel);
            }
            Occurrence::Mailed(served) => {
                if let (MailRequest::Send(new_message), MailReply::Sent(SendReply::Accepted)) =
                    (served.request, served.reply)
                {
                    self.moves(world, &new_message.channel);
                }
            }
            Occurrence::Passing if world.now >= self.looked_at + LOOK_EVERY => {
                self.looked_at = world.now;
                return self.look(world);
            }
            _ => (),
        }
        Ok(())
    }
}
