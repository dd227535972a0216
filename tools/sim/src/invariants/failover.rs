//! When a leader dies, another one leads within the time that the timing predicts.

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::SimTime;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Failover {
    killed_at: Option<SimTime>,
}

impl Invariant for Failover {
    fn name(&self) -> &'static str {
        "failover"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::LeaderKilled => self.killed_at = Some(world.now),
            Occurrence::Elected { .. } => {
                if let Some(killed_at) = self.killed_at.take() {
                    let took = world.now - killed_at;
                    if took > world.limits.failover {
                        let [took, most] = [took, world.limits.failover].map(|nanos| nanos as f64 / 1e9);
                        return Err(format!("{took:.3} s without a leader; predicted {most:.3} s at most"));
                    }
                }
            }
            Occurrence::LongWithoutLeader if self.killed_at.is_some() => {
                return Err("nobody took over from a leader that died".to_owned());
            }
            _ => (),
        }
        Ok(())
    }
}
