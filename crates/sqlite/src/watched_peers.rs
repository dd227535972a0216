//! The processes that candidates of this store watch: leaders, and stand-bys before them. One descriptor
//! per process, however many wait for it.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll;
use tenure_store::{ElectionKey, Instant, Nonce};

use super::peer_registry::{PeerRegistry, ended};
use super::wake_listener::WakeFollower;
use tenure_store::record::{ProcessToken, ProcessWatch};

#[derive(Debug, Default)]
pub(super) struct WatchedPeers {
    watched: HashMap<ProcessToken, WatchedPeer>,
    numbers: HashMap<u64, ProcessToken>,
    following: HashMap<Nonce, FollowedPeer>,
    numbers_used: u64,
    sweep_at: usize,
}

#[derive(Debug)]
struct WatchedPeer {
    number: u64,
    /// Held open for epoll, which forgets it when it is closed.
    _life: OwnedFd,
    /// The candidates that wait for its end, and how long each waits after it.
    followers: BTreeMap<Nonce, Duration>,
}

#[derive(Debug)]
struct FollowedPeer {
    key: ElectionKey,
    processes: Vec<ProcessToken>,
    fresh_until: Instant,
}

/// Below this many followers, those that silently left are not swept.
const MIN_SWEEP: usize = 64;

impl WatchedPeers {
    /// Waits for these processes, and no longer for any others. If one of them has ended already, returns how long to wait
    /// before looking.
    pub(super) fn follow(
        &mut self,
        epoll: &OwnedFd,
        registry: &PeerRegistry,
        follower: WakeFollower,
        now: Instant,
    ) -> Option<Duration> {
        let WakeFollower { candidate, key, watches, fresh_until } = follower;
        self.sweep(now);
        let mut looks_after = None;
        let mut processes = Vec::with_capacity(watches.len());
        for ProcessWatch { process, after } in watches {
            match self.watch(epoll, registry, process) {
                Some(Ok(watched)) => {
                    watched.followers.insert(candidate, after);
                    processes.push(process);
                }
                Some(Err(PeerEnd)) => looks_after = Some(looks_after.unwrap_or(after).min(after)),
                None => {}
            }
        }
        let before = self.following.insert(candidate, FollowedPeer { key, processes: processes.clone(), fresh_until });
        let before = before.map(|before| before.processes).unwrap_or_default();
        for left in before.into_iter().filter(|process| !processes.contains(process)) {
            self.leave(candidate, left);
        }
        looks_after
    }

    pub(super) fn forget(&mut self, candidate: Nonce) {
        let Some(FollowedPeer { processes, .. }) = self.following.remove(&candidate) else { return };
        processes.into_iter().for_each(|process| self.leave(candidate, process));
    }

    /// The elections that the process of this number concerned, and how long to wait before looking.
    pub(super) fn ended(&mut self, number: u64) -> BTreeMap<ElectionKey, Duration> {
        let Some(process) = self.numbers.remove(&number) else { return BTreeMap::new() };
        let followers = self.watched.remove(&process).map(|watched| watched.followers).unwrap_or_default();
        let mut concerned = BTreeMap::new();
        for (candidate, after) in followers {
            let Some(following) = self.following.get_mut(&candidate) else { continue };
            following.processes.retain(|other| *other != process);
            let earliest = concerned.entry(following.key.clone()).or_insert(after);
            *earliest = after.min(*earliest);
        }
        concerned
    }

    /// `None` if its state cannot be determined.
    fn watch(
        &mut self,
        epoll: &OwnedFd,
        registry: &PeerRegistry,
        process: ProcessToken,
    ) -> Option<Result<&mut WatchedPeer, PeerEnd>> {
        if !self.watched.contains_key(&process) {
            let life = registry.open_life(process)?;
            let number = self.numbers_used + 1;
            // An end is always reported; nothing else about a life is of interest.
            epoll::add(epoll, &life, epoll::EventData::new_u64(number), epoll::EventFlags::empty()).ok()?;
            // A pipe that had ended before it was opened is not reported as ended.
            if ended(&life) {
                return Some(Err(PeerEnd));
            }
            self.numbers_used = number;
            self.numbers.insert(number, process);
            self.watched.insert(process, WatchedPeer { number, _life: life, followers: BTreeMap::new() });
        }
        self.watched.get_mut(&process).map(Ok)
    }

    fn leave(&mut self, candidate: Nonce, process: ProcessToken) {
        let Some(watched) = self.watched.get_mut(&process) else { return };
        watched.followers.remove(&candidate);
        if watched.followers.is_empty() {
            self.numbers.remove(&watched.number);
            self.watched.remove(&process);
        }
    }

    /// Forgets candidates that left silently, at a cost that does not grow with every follower.
    fn sweep(&mut self, now: Instant) {
        if self.following.len() < self.sweep_at.max(MIN_SWEEP) {
            return;
        }
        let stale = self.following.iter().filter(|(_, following)| following.fresh_until <= now);
        for candidate in stale.map(|(candidate, _)| *candidate).collect::<Vec<_>>() {
            self.forget(candidate);
        }
        self.sweep_at = self.following.len() * 2;
    }
}

/// The life pipe no longer has a holder.
struct PeerEnd;
