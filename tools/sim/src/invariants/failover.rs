//! When a leader dies, another one leads within the time that the timing predicts.

use super::{Invariant, Seen};
use crate::assumption::Assumption;
use crate::clock::True;
use crate::world::View;

#[derive(Default)]
pub(crate) struct Failover {
    killed_at: Option<True>,
}

impl Invariant for Failover {
    fn name(&self) -> &'static str {
        "failover"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Seen<'_>) -> Result<(), String> {
        match *seen {
            Seen::LeaderKilled => self.killed_at = Some(world.now),
            Seen::Elected { .. } => {
                if let Some(killed_at) = self.killed_at.take() {
                    let took = world.now - killed_at;
                    if took > world.failover_max {
                        let [took, most] = [took, world.failover_max].map(|nanos| nanos as f64 / 1e9);
                        return Err(format!("{took:.3} s without a leader; predicted {most:.3} s at most"));
                    }
                }
            }
            Seen::LongWithoutLeader if self.killed_at.is_some() => {
                return Err("nobody took over from a leader that died".to_owned());
            }
            _ => (),
        }
        Ok(())
    }
}
