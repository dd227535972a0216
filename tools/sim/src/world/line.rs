//! Those who stand by: what befalls the first of them, and what a store that sees processes die tells the others.

use tenure_core::Input;

use super::network::{is_gone, life_of};
use super::process::RESTS;
use super::queue::{Incarnation, SimEvent};
use super::view::nanos;
use super::{SimOutcome, SimWorld};
use crate::clock::{MILLI, SECOND};
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::tally::Situation;

/// What befalls those first in line.
#[derive(Clone, Copy)]
enum StandByEnd {
    StandStill,
    Die,
    Leave,
}

impl SimWorld {
    /// Those first in line go, at least one stays, and when all is calm again the leader goes.
    pub(super) fn strike_head_of_line(&mut self) -> SimOutcome {
        let line = self.line();
        let Some(leader) = self.leader.filter(|leader| self.is_there(*leader)) else { return Ok(()) };
        let Some(most) = line.len().checked_sub(1).filter(|most| *most > 0) else { return Ok(()) };
        let (calm, ttl) = (self.limits.calm, nanos(self.options.max_ttl()));
        let rng = self.chance_of(FaultClass::HeadOfLine);
        let count = 1 + rng.index(most.min(3));
        let end = rng.pick(&[StandByEnd::StandStill, StandByEnd::Die, StandByEnd::Leave]);
        let leaves = rng.percent(50);
        let at = self.now + 2 * calm + self.chance_of(FaultClass::HeadOfLine).up_to(ttl);
        let away = at - self.now + ttl + 5 * SECOND;
        for node in line.into_iter().take(count) {
            match end {
                StandByEnd::StandStill => self.pause(node, away),
                StandByEnd::Die => self.strike_dead(node, away)?,
                StandByEnd::Leave => self.leave(node, away)?,
            }
        }
        self.count(Situation::HeadOfLineGone);
        self.queue.put(at, SimEvent::Go { of: leader, away, leaves });
        Ok(())
    }

    /// All is well, but those first in line do not answer when the leader goes: they stand still, or died with it, or the
    /// successor leaves before it hears that it is one.
    pub(super) fn lose_head_of_line(&mut self) -> SimOutcome {
        self.run_until(self.now + 2 * self.limits.calm)?;
        let line = self.line();
        let (Some(leader), Some(most)) = (self.leading(), line.len().checked_sub(1).filter(|most| *most > 0)) else {
            return Ok(());
        };
        let count = 1 + self.rng.index(most.min(3));
        let end = self.rng.pick(&[StandByEnd::StandStill, StandByEnd::Die, StandByEnd::Leave]);
        let leaves = matches!(end, StandByEnd::Leave) || self.rng.percent(50);
        let (limit, now) = (self.limits.succession + 2 * SECOND, self.now);
        for &node in line.iter().take(count) {
            match end {
                StandByEnd::StandStill => self.pause(node, limit),
                StandByEnd::Die => self.go(self.nodes[node].life(node), limit, false)?,
                StandByEnd::Leave => self.successor_leaves = true,
            }
        }
        self.count(Situation::HeadOfLineGone);
        self.go(self.nodes[leader].life(leader), limit, leaves)?;
        self.run_until(now + limit + self.limits.failover + 2 * RESTS)
    }

    pub(super) fn let_successor_leave(&mut self) -> SimOutcome {
        let first = self.line().first().copied().filter(|_| self.successor_leaves);
        let Some(node) = first else { return Ok(()) };
        self.successor_leaves = false;
        self.see(&Occurrence::ToldToStop { node })?;
        self.feed(node, Input::Stop)
    }

    /// Those who stand by and live, the next one first.
    fn line(&self) -> Vec<usize> {
        let lives =
            self.store.line(self.store_shows()).map(|(process, _)| life_of(process)).filter(|of| self.is_there(*of));
        lives.map(|of| of.node).collect()
    }

    /// A process dies or leaves, if it is still there, and comes back later.
    pub(super) fn go(&mut self, of: Incarnation, away: u64, leaves: bool) -> SimOutcome {
        if !self.is_there(of) {
            return Ok(());
        }
        if leaves {
            return self.leave(of.node, away);
        }
        self.queue.put(self.now + away, SimEvent::Restart { node: of.node });
        self.die(of.node)
    }

    /// Where ends are seen, whoever waits for one hears of it, each at its time.
    pub(super) fn tell_of_ends(&mut self) -> SimOutcome {
        if !self.options.kind.sees_death() {
            return Ok(());
        }
        for node in 0..self.nodes.len() {
            let to = self.nodes[node].life(node);
            let mut watches = std::mem::take(&mut self.nodes[node].watches);
            let ended = watches.extract_if(.., |watch| is_gone(&self.nodes, life_of(watch.process)));
            let after: Vec<u64> = ended.map(|watch| nanos(watch.after)).collect();
            self.nodes[node].watches = watches;
            for after in after {
                let at = self.now + after + self.rng.up_to(MILLI);
                self.queue.put(at, SimEvent::AtProcess { to, input: Input::Hint, sent: self.now });
            }
        }
        let holder = self.store.holder(self.store_shows());
        if let Some((process, term)) = holder
            && self.ended != Some(term)
            && is_gone(&self.nodes, life_of(process))
        {
            self.ended = Some(term);
            self.see(&Occurrence::HolderDied)?;
        }
        Ok(())
    }

    fn is_there(&self, of: Incarnation) -> bool {
        self.nodes[of.node].life == of.life && self.nodes[of.node].elector.is_some()
    }
}
