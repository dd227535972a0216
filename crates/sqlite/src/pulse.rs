//! Everything that can wake a candidate of this store: the bell that other processes ring, and the lives of those before it.
//!
//! All of it hangs on one epoll descriptor. The worker thread adds and removes what is waited for; each watcher polls
//! the same descriptor on its own runtime, and whoever comes first takes what happened and tells all the others. So
//! no watcher depends on another one being polled, and waiting costs nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use tenure_core::{Instant, Nonce};
use tenure_store::{ElectionKey, Hint, Interest};
use tokio::sync::broadcast;

use super::config::Location;
use super::hearing::Hearing;
use super::identity::Identity;
use super::leaders::Leaders;
use super::registry::Registry;
use super::ring::Ring;
use super::watch::FileWatch;
use tenure_core::record::Watch;

#[derive(Debug)]
pub(super) struct Pulse {
    epoll: OwnedFd,
    news: broadcast::Sender<News>,
    /// Apart from the others: however many messages come, nobody else lags behind for it.
    message_news: broadcast::Sender<News>,
    hearing: Arc<Hearing>,
    sources: Mutex<Sources>,
}

#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) interest: Interest,
    pub(super) hint: Hint,
}

#[derive(Debug, Default)]
struct Sources {
    bell: Option<OwnedFd>,
    files: Option<FileWatch>,
    leaders: Leaders,
}

/// What a watcher may lag behind before it is told to look at everything.
const NEWS_KEPT: usize = 256;
/// As much as a pipe can hold: what is read in one piece never ends within a line.
const BELL_BYTES: usize = 65_536;
/// A pipe that holds more than this may have had no room for a line that was to be written into it: lines do not cross
/// the borders of its pages.
const BELL_NEARLY_FULL: usize = BELL_BYTES / 2;
const EVENTS_AT_ONCE: usize = 32;
/// Bounds the work of one wake-up, however fast others ring.
const ROUNDS: usize = 16;
/// Marks the bell among the descriptors; lives are numbered from 1.
const BELL: u64 = 0;
/// Marks the watch over the files.
const FILES: u64 = u64::MAX;

impl Pulse {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let [news, message_news] = [(); 2].map(|()| broadcast::Sender::new(NEWS_KEPT));
        Ok(Self { epoll, news, message_news, hearing: Arc::default(), sources: Mutex::default() })
    }

    /// A descriptor that is readable when [`Pulse::take`] has something to do.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    /// Those who listen to broadcasts.
    pub(super) fn hearing(&self) -> &Arc<Hearing> {
        &self.hearing
    }

    pub(super) fn subscribe(&self, interest: Interest) -> broadcast::Receiver<News> {
        self.channel(interest).subscribe()
    }

    /// Tells every watcher in this process.
    pub(super) fn tell(&self, ring: Ring, key: Option<ElectionKey>) {
        let Some(interest) = ring.interest() else { return self.hearing.call() };
        let hint = Hint { key, after: ring.delay() };
        // Nobody may be listening, and that is fine: a hint is only a hint.
        let _ = self.channel(interest).send(News { interest, hint });
    }

    /// Something happened that cannot be told any more: everybody looks everywhere.
    fn tell_all(&self) {
        self.tell(Ring::Now, None);
        self.tell(Ring::Messages, None);
        self.tell(Ring::Broadcast, None);
    }

    pub(super) fn listen_to(&self, bell: OwnedFd) -> io::Result<()> {
        epoll::add(&self.epoll, &bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        self.sources().bell = Some(bell);
        Ok(())
    }

    /// Has everybody look when something happens to these files. Where that cannot be had, it is noticed by the next
    /// request.
    pub(super) fn watch(&self, location: &Location, identity: Identity) {
        let mut sources = self.sources();
        if sources.files.as_ref().is_some_and(|files| files.is_of(&identity)) {
            return;
        }
        let watch = FileWatch::new(location, identity).and_then(|watch| {
            epoll::add(&self.epoll, &watch, epoll::EventData::new_u64(FILES), epoll::EventFlags::IN)?;
            Ok(watch)
        });
        match watch {
            Ok(watch) => sources.files = Some(watch),
            Err(error) => {
                sources.files = None;
                log!(debug, path = %location.path.display(), %error, "cannot watch the files of the store");
            }
        }
    }

    /// Tells this candidate when one of the processes ends that concern it, until it is [forgotten](Pulse::forget) or has
    /// not been heard of until `fresh_until`.
    pub(super) fn follow(&self, registry: &Registry, follower: Follower, now: Instant) {
        let key = follower.key.clone();
        let ended = self.sources().leaders.follow(&self.epoll, registry, follower, now);
        if let Some(after) = ended {
            self.tell(Ring::after(after), Some(key));
        }
    }

    pub(super) fn forget(&self, candidate: Nonce) {
        self.sources().leaders.forget(candidate);
    }

    /// Takes what happened and tells it to all watchers. False when there may be more.
    pub(super) fn take(&self) -> bool {
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        for _ in 0..ROUNDS {
            events.clear();
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&at_once)) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(0) | Err(_) => return true,
                Ok(_) => {}
            }
            for event in &events {
                match event.data.u64() {
                    BELL => self.answer_bell(),
                    FILES => {
                        let is_intact = self.sources().files.as_ref().is_none_or(FileWatch::is_intact);
                        if !is_intact {
                            self.tell_all();
                        }
                    }
                    leader => {
                        let bereft = self.sources().leaders.ended(leader);
                        bereft.into_iter().for_each(|(key, after)| self.tell(Ring::after(after), Some(key)));
                    }
                }
            }
        }
        false
    }

    fn answer_bell(&self) {
        let mut text = vec![0; BELL_BYTES];
        let read = match &self.sources().bell {
            Some(bell) => rustix::io::read(bell, &mut text).unwrap_or(0),
            None => 0,
        };
        if read >= BELL_NEARLY_FULL {
            return self.tell_all();
        }
        for line in text[..read].split_inclusive(|byte| *byte == b'\n') {
            match Ring::understand(line) {
                Some((ring, key)) => self.tell(ring, Some(key)),
                None => self.tell_all(),
            }
        }
    }

    fn channel(&self, interest: Interest) -> &broadcast::Sender<News> {
        match interest {
            Interest::Own | Interest::All => &self.news,
            Interest::Messages => &self.message_news,
        }
    }

    /// A panic elsewhere cannot have left them inconsistent in a way that matters: at worst a hint is lost.
    fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A candidate that waits for others' ends.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) candidate: Nonce,
    pub(super) key: ElectionKey,
    pub(super) watches: Vec<Watch>,
    pub(super) fresh_until: Instant,
}
