//! Where deaths are seen, the first in line who lives follows a leader that died; nobody else takes its place while the
//! lease is kept for it.

use tenure_core::store_rules::record::RESERVATION;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::SimTime;
use crate::world::{Incarnation, View, nanos};

#[derive(Default)]
pub(crate) struct SuccessionOrder {
    /// Who comes next, and since when.
    next: Option<(usize, SimTime)>,
}

impl Invariant for SuccessionOrder {
    fn name(&self) -> &'static str {
        "order"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers, Assumption::WorkCanBeKilled]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            // A lease that runs out meanwhile is anybody's.
            Occurrence::HolderDied if world.is_calm() && world.lease_left() > RESERVATION * 2 => {
                self.next = world.line().first().map(|first| (*first, world.now));
            }
            // The next one after it is not looked at: it may be anybody who has not heard of it yet.
            Occurrence::Crashed { node } | Occurrence::ToldToStop { node }
                if self.next.is_some_and(|(next, _)| next == node) =>
            {
                self.next = None;
            }
            Occurrence::Released => self.next = None,
            Occurrence::Granted { node } => {
                let Some((next, since)) = self.next.take() else { return Ok(()) };
                // On the fastest clock there is.
                let kept_until = since + nanos(RESERVATION.mul_f64(8.0 / 9.0));
                // Whoever was not heard of for too long has lost its place.
                let has_place = world.line().contains(&next) && !world.has_higher_priority(node, next);
                // One that died while its request was under way may have been before it.
                let lives = world.lives(Incarnation { node, life: world.life(node) });
                if node != next && world.now < kept_until && has_place && lives {
                    return Err(format!("{} leads although {} comes before it", world.name(node), world.name(next)));
                }
            }
            _ => (),
        }
        Ok(())
    }
}
