//! Everything that can wake a candidate of this store: the pipe that other processes write into, and the deaths of
//! processes before it.
//!
//! All of it hangs on one epoll descriptor. The database thread adds and removes what is waited for; each watcher polls
//! the same descriptor on its own runtime, and whoever comes first takes what happened and tells all the others. So
//! no watcher depends on another one being polled, and waiting costs nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use tenure_store::{ElectionKey, Hint, HintChannel, HintWatcher, Instant, Interest, Nonce};

use super::config::Location;
use super::file_watch::FileWatch;
use super::identity::FileIdentity;
use super::peer_registry::PeerRegistry;
use super::subscriptions::Subscriptions;
use super::wake_message::WakeMessage;
use super::watched_peers::WatchedPeers;
use tenure_store::record::ProcessWatch;

#[derive(Debug)]
pub(super) struct WakeListener {
    epoll: OwnedFd,
    hints: HintChannel,
    subscriptions: Arc<Subscriptions>,
    sources: Mutex<WakeSources>,
}

#[derive(Debug, Default)]
struct WakeSources {
    wake_pipe: Option<OwnedFd>,
    files: Option<FileWatch>,
    watched_peers: WatchedPeers,
}

/// The capacity of a pipe: a single read never ends within a line.
const WAKE_PIPE_BYTES: usize = 65_536;
/// A pipe that holds more than this may have had no room for a line that was to be written into it: lines do not cross
/// the borders of its pages.
const WAKE_PIPE_NEARLY_FULL: usize = WAKE_PIPE_BYTES / 2;
const EVENTS_AT_ONCE: usize = 32;
/// Bounds the work of one wake-up, however fast others write.
const ROUNDS: usize = 16;
/// Marks the wake pipe among the descriptors; lives are numbered from 1.
const WAKE_PIPE: u64 = 0;
/// Marks the watch on the files.
const FILES: u64 = u64::MAX;

impl WakeListener {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, hints: HintChannel::default(), subscriptions: Arc::default(), sources: Mutex::default() })
    }

    /// A descriptor that is readable when [`WakeListener::take`] has something to do.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    /// The listeners to broadcasts.
    pub(super) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    pub(super) fn hints(&self, interest: Interest) -> HintWatcher {
        self.hints.watch(interest)
    }

    /// Notifies every watcher in this process.
    pub(super) fn tell(&self, message: WakeMessage, key: Option<ElectionKey>) {
        let Some(interest) = message.interest() else { return self.subscriptions.call() };
        let hint = Hint { key, after: message.delay() };
        if interest == Interest::Own {
            // Whoever watches everything hears of its own candidates, too.
            self.hints.tell(Interest::All, hint.clone());
        }
        self.hints.tell(interest, hint);
    }

    /// The details of an event are lost: all watchers look at everything.
    fn tell_all(&self) {
        self.tell(WakeMessage::Now, None);
        self.tell(WakeMessage::Messages, None);
        self.tell(WakeMessage::Broadcast, None);
    }

    pub(super) fn listen_to(&self, wake_pipe: OwnedFd) -> io::Result<()> {
        epoll::add(&self.epoll, &wake_pipe, epoll::EventData::new_u64(WAKE_PIPE), epoll::EventFlags::IN)?;
        self.sources().wake_pipe = Some(wake_pipe);
        Ok(())
    }

    /// Has everybody look when something happens to these files. Where that cannot be had, it is noticed by the next
    /// request.
    pub(super) fn watch(&self, location: &Location, identity: FileIdentity) {
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

    /// Tells this candidate when one of the processes ends that concern it, until it is [forgotten](WakeListener::forget) or has
    /// not been heard of until `fresh_until`.
    pub(super) fn follow(&self, registry: &PeerRegistry, follower: WakeFollower, now: Instant) {
        let key = follower.key.clone();
        let ended = self.sources().watched_peers.follow(&self.epoll, registry, follower, now);
        if let Some(after) = ended {
            self.tell(WakeMessage::after(after), Some(key));
        }
    }

    pub(super) fn forget(&self, candidate: Nonce) {
        self.sources().watched_peers.forget(candidate);
    }

    /// Takes the events and forwards them to all watchers. False if there may be more.
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
                    WAKE_PIPE => self.read_wake_pipe(),
                    FILES => {
                        let is_intact = self.sources().files.as_ref().is_none_or(FileWatch::is_intact);
                        if !is_intact {
                            self.tell_all();
                        }
                    }
                    leader => {
                        let bereft = self.sources().watched_peers.ended(leader);
                        bereft.into_iter().for_each(|(key, after)| self.tell(WakeMessage::after(after), Some(key)));
                    }
                }
            }
        }
        false
    }

    fn read_wake_pipe(&self) {
        let mut text = vec![0; WAKE_PIPE_BYTES];
        let read = match &self.sources().wake_pipe {
            Some(wake_pipe) => rustix::io::read(wake_pipe, &mut text).unwrap_or(0),
            None => 0,
        };
        if read >= WAKE_PIPE_NEARLY_FULL {
            return self.tell_all();
        }
        for line in text[..read].split_inclusive(|byte| *byte == b'\n') {
            match WakeMessage::understand(line) {
                Some((message, key)) => self.tell(message, Some(key)),
                None => self.tell_all(),
            }
        }
    }

    /// A panic elsewhere cannot leave them inconsistent in a way that matters: at worst a hint is lost.
    fn sources(&self) -> MutexGuard<'_, WakeSources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A candidate that waits for the ends of others.
#[derive(Debug)]
pub(super) struct WakeFollower {
    pub(super) candidate: Nonce,
    pub(super) key: ElectionKey,
    pub(super) watches: Vec<ProcessWatch>,
    pub(super) fresh_until: Instant,
}
