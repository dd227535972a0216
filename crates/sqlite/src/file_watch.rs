//! Notices at once that the files of a leader are gone.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::config::Location;
use super::identity::FileIdentity;

/// Readable when something relevant happened to the files.
#[derive(Debug)]
pub(super) struct FileWatch {
    events: OwnedFd,
    location: Location,
    identity: FileIdentity,
}

/// Room for a few events; those that do not fit are read next.
const EVENT_BYTES: usize = 4096;

impl FileWatch {
    pub(super) fn new(location: &Location, identity: FileIdentity) -> io::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        // A file that is deleted while it is open changes its number of links.
        let outcome = WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        for file in [&location.real, &location.log(), &location.index()] {
            inotify::add_watch(&events, file, outcome)?;
        }
        for name in [&location.path, &location.real] {
            // Links on the way are not followed but watched; what cannot be watched is looked at with every renewal.
            for place in name.ancestors().filter(|place| *place != location.real && *place != Path::new("/")) {
                let outcome = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::DONT_FOLLOW;
                let _ = inotify::add_watch(&events, place, outcome);
            }
        }
        Ok(Self { events, location: location.clone(), identity })
    }

    pub(super) fn is_of(&self, identity: &FileIdentity) -> bool {
        self.identity == *identity
    }

    /// Takes what happened, and tells whether the files are still there: those who open or close them as the superuser
    /// touch them, too.
    pub(super) fn is_intact(&self) -> bool {
        let mut room = [MaybeUninit::<u8>::uninit(); EVENT_BYTES];
        // Once is enough: if there are more, this is called again.
        let _ = rustix::io::read(&self.events, &mut room);
        FileIdentity::of(&self.location).is_ok_and(|identity| identity == self.identity)
    }
}

impl AsFd for FileWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}
