//! The lives of the leaders that candidates of this store wait for: one descriptor per leading process.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use tenure_core::{Instant, Nonce};

use super::super::ElectionKey;
use super::pulse::Follower;
use super::registry::{Registry, ended};
use tenure_core::record::ProcessToken;

#[derive(Debug, Default)]
pub(super) struct Leaders {
    watched: HashMap<ProcessToken, Watched>,
    following: HashMap<Nonce, Following>,
    numbers_used: u64,
    sweep_at: usize,
}

#[derive(Debug)]
struct Watched {
    number: u64,
    /// Held open for the sake of epoll, which forgets it when it is closed.
    _life: OwnedFd,
    followers: BTreeMap<Nonce, ElectionKey>,
}

#[derive(Debug)]
struct Following {
    leader: ProcessToken,
    fresh_until: Instant,
}

/// Below this many followers nobody looks for those that silently left.
const SWEEP_MIN: usize = 64;

impl Leaders {
    /// Returns the election if its leader has ended already.
    pub(super) fn follow(
        &mut self,
        epoll: &OwnedFd,
        registry: &Registry,
        follower: Follower,
        now: Instant,
    ) -> Option<ElectionKey> {
        let Follower { candidate, key, leader, fresh_until } = follower;
        if self.following.get(&candidate).is_some_and(|following| following.leader != leader) {
            self.forget(candidate);
        }
        self.sweep(now);
        let watched = match self.watched.get_mut(&leader) {
            Some(watched) => watched,
            None => {
                let life = registry.open_life(leader)?;
                let number = self.numbers_used + 1;
                // An end is always reported; nothing else about a life is of interest.
                epoll::add(epoll, &life, epoll::EventData::new_u64(number), epoll::EventFlags::empty()).ok()?;
                // A pipe that had ended before it was opened is not reported as ended.
                if ended(&life) {
                    return Some(key);
                }
                self.numbers_used = number;
                self.watched.entry(leader).or_insert(Watched { number, _life: life, followers: BTreeMap::new() })
            }
        };
        watched.followers.insert(candidate, key);
        self.following.insert(candidate, Following { leader, fresh_until });
        None
    }

    pub(super) fn forget(&mut self, candidate: Nonce) {
        let Some(Following { leader, .. }) = self.following.remove(&candidate) else { return };
        let Some(watched) = self.watched.get_mut(&leader) else { return };
        watched.followers.remove(&candidate);
        if watched.followers.is_empty() {
            self.watched.remove(&leader);
        }
    }

    /// The elections that a leader of this number led.
    pub(super) fn ended(&mut self, number: u64) -> Vec<ElectionKey> {
        let Some((&leader, _)) = self.watched.iter().find(|(_, watched)| watched.number == number) else {
            return Vec::new();
        };
        let followers = self.watched.remove(&leader).map(|watched| watched.followers).unwrap_or_default();
        self.following.retain(|candidate, _| !followers.contains_key(candidate));
        followers.into_values().collect()
    }

    /// Candidates that left without a word are forgotten, at a cost that does not grow with every follower.
    fn sweep(&mut self, now: Instant) {
        if self.following.len() < self.sweep_at.max(SWEEP_MIN) {
            return;
        }
        let stale = self.following.iter().filter(|(_, following)| following.fresh_until <= now);
        for candidate in stale.map(|(candidate, _)| *candidate).collect::<Vec<_>>() {
            self.forget(candidate);
        }
        self.sweep_at = self.following.len() * 2;
    }
}
