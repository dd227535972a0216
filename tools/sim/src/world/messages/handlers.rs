//! Handlers: they take what an inbox delivers, and end by themselves, with the work of their leadership, or with their process.

use std::sync::Arc;

use tenure_core::messages::{HandlingOutcome, InboxInput, Message};
use tenure_core::{ChannelName, Term};

use super::{DeliveryEnd, SimDelivery, SimMailEvent};
use crate::invariants::Occurrence;
use crate::tally::Situation;
use crate::world::queue::Incarnation;
use crate::world::{SimOutcome, SimWorld};

impl SimWorld {
    /// Somebody who reads a channel, and has nothing in hand, takes the next message.
    pub(super) fn take_mail(&mut self, of: Incarnation, channel: &ChannelName) -> SimOutcome {
        let Some(readers) = self.options.mail.as_ref().map(|mail| mail.readers) else { return Ok(()) };
        let is_rival = |delivery: &&SimDelivery| delivery.of == of && delivery.message.channel == *channel;
        if self.inbox_of(of).is_none() || self.messages.deliveries.iter().filter(is_rival).count() >= readers {
            return Ok(());
        }
        self.feed_mail(of.node, InboxInput::Take { channel: channel.clone() })
    }

    pub(super) fn begin_handling(&mut self, of: Incarnation, term: Term, message: Message) -> SimOutcome {
        let Some(mail) = &self.options.mail else { return Ok(()) };
        let (lasts, failing, hopeless) = (mail.lasts, mail.failing, mail.hopeless);
        self.messages.numbers += 1;
        let delivery = SimDelivery { number: self.messages.numbers, of, term, message };
        self.say(|world| format!("{} HANDLES {}", world.name(of.node), said_of(&delivery)));
        let rng = &mut self.messages.rng;
        let at = self.now + rng.between(lasts / 10, lasts);
        // Whether a message can be handled at all depends on the message.
        let is_hopeless = delivery.message.id.to_bits() % 1_000 * 37 % 1_000 < u128::from(hopeless);
        let end = if is_hopeless || rng.permille(failing) { DeliveryEnd::Failed } else { DeliveryEnd::Done };
        self.put_mail(at, SimMailEvent::Handled { of, number: delivery.number, end });
        self.messages.deliveries.push(delivery.clone());
        self.see(&Occurrence::HandedOut(&delivery))
    }

    pub(super) fn end_handling(&mut self, number: u64, end: DeliveryEnd) -> SimOutcome {
        match self.messages.deliveries.iter().position(|delivery| delivery.number == number) {
            Some(index) => self.end_delivery(index, end),
            None => Ok(()),
        }
    }

    /// The work of a leadership has ended, and with it whatever was still in hand.
    pub(in crate::world) fn cut_off_handlers(&mut self, of: Incarnation, term: Term) -> SimOutcome {
        let is_of = |delivery: &SimDelivery| delivery.of == of && delivery.term == term;
        while let Some(index) = self.messages.deliveries.iter().position(is_of) {
            self.count(Situation::HandlingCutOff);
            self.end_delivery(index, DeliveryEnd::CutOff)?;
        }
        Ok(())
    }

    fn end_delivery(&mut self, index: usize, end: DeliveryEnd) -> SimOutcome {
        let delivery = self.messages.deliveries.swap_remove(index);
        // A handler that fails when it has to stop may have failed because of that.
        let is_cut = end == DeliveryEnd::Failed && self.leads_under(delivery.of.node) != Some(delivery.term);
        let end = if is_cut { DeliveryEnd::CutOff } else { end };
        match end {
            DeliveryEnd::Done => self.count(Situation::MessageHandled),
            DeliveryEnd::Failed => self.count(Situation::HandlingFailed),
            DeliveryEnd::CutOff => {}
        }
        self.say(|world| format!("{} has handled {}: {end:?}", world.name(delivery.of.node), said_of(&delivery)));
        self.see(&Occurrence::Handled { delivery: &delivery, end })?;
        self.put_mail(self.now, SimMailEvent::SeenToEnd { delivery: Arc::new(delivery), end });
        Ok(())
    }

    /// A process that is still there tells its inbox, and takes the next one.
    pub(super) fn see_handling_end(&mut self, delivery: &SimDelivery, end: DeliveryEnd) -> SimOutcome {
        let SimDelivery { of, term, message, .. } = delivery;
        if self.inbox_of(*of).is_none() {
            return Ok(());
        }
        let outcome = match end {
            DeliveryEnd::Done => HandlingOutcome::Done,
            DeliveryEnd::Failed => HandlingOutcome::Failed("no".to_owned()),
            DeliveryEnd::CutOff => HandlingOutcome::Interrupted,
        };
        let (line, id) = (message.ordering_key(), message.id);
        self.feed_mail(of.node, InboxInput::Handled { term: *term, line, id, outcome })?;
        self.take_soon(*of, message.channel.clone());
        Ok(())
    }
}

fn said_of(delivery: &SimDelivery) -> String {
    let SimDelivery { term, message, .. } = delivery;
    format!("message {:x} of {} under term {term}", message.id.to_bits(), message.sender)
}
