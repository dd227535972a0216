//! What is alive of a `tenure` and of all that its guards run, as its guards can see it.
//!
//! A lease may be released after a crash only when everything that ran under it is dead, and a guard knows of its own
//! command alone. So all of them share a pipe. It stays open for writing as long as `tenure` lives, or any guard has
//! something to guard, and it holds one byte for each command that is not known to be dead with all of its descendants. A
//! guard that was killed cannot take its byte out, and may have left something behind: nobody releases anything then,
//! unless `tenure` has cleared up after it.
//!
//! One byte more is in it from the beginning. Who takes it releases the lease, so that one guard does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use tenure_core::Instant;

use super::clock;

/// One process's hold on the pipe.
#[derive(Debug)]
pub(crate) struct LiveWork {
    bytes: OwnedFd,
    alive: OwnedFd,
}

impl LiveWork {
    /// That of this `tenure`. It is never let go of, so that only the end of the process does.
    pub(crate) fn of_this_process() -> io::Result<&'static Self> {
        static OWN: OnceLock<LiveWork> = OnceLock::new();
        if let Some(own) = OWN.get() {
            return Ok(own);
        }
        let (bytes, alive) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let made = Self { bytes, alive };
        made.add()?;
        Ok(OWN.get_or_init(|| made))
    }

    /// That of a guard, which was handed both ends.
    pub(crate) fn handed_over(bytes: OwnedFd, alive: OwnedFd) -> Self {
        Self { bytes, alive }
    }

    /// Both ends, in the order in which they are handed over.
    pub(crate) fn ends(&self) -> [BorrowedFd<'_>; 2] {
        [self.bytes.as_fd(), self.alive.as_fd()]
    }

    /// A command is about to be started.
    pub(crate) fn begin(&self) -> io::Result<()> {
        self.add()
    }

    /// A command, and everything it has started, is dead.
    pub(crate) fn end(&self) {
        // Without a byte it was not counted, and nothing will be released.
        let _ = self.take();
    }

    /// Whether it falls to this guard, which guards nothing any more, to release what is left, since `tenure` and all that
    /// its guards ran are dead. Waits for that until `patience` is over.
    pub(crate) fn falls_to_us(self, patience: Duration) -> bool {
        let Self { bytes, alive } = self;
        drop(alive);
        // All who write to it are gone, and so nobody adds anything any more.
        let only_ours = hung_up(&bytes, clock::now() + patience) && ioctl_fionread(&bytes) == Ok(1);
        only_ours && take(&bytes)
    }

    fn add(&self) -> io::Result<()> {
        write(&self.alive, &[1])?;
        Ok(())
    }

    fn take(&self) -> bool {
        take(&self.bytes)
    }
}

fn take(bytes: &OwnedFd) -> bool {
    read(bytes, &mut [0]) == Ok(1)
}

/// Whether nobody holds the other end any more, within this time.
fn hung_up(bytes: &OwnedFd, until: Instant) -> bool {
    loop {
        let left = Timespec::try_from(until.saturating_since(clock::now())).unwrap_or(AT_ONCE);
        // No event is asked for, so that bytes do not wake it: this one is told of always.
        let mut sources = [PollFd::new(bytes, PollFlags::empty())];
        match poll(&mut sources, Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return sources[0].revents().contains(PollFlags::HUP),
            // An orphan of somebody else's that is reaped by nobody here.
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    /// A `tenure` and its guards, each with a hold of its own.
    fn holds<const COUNT: usize>() -> [LiveWork; COUNT] {
        let (bytes, alive) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let first = LiveWork { bytes, alive };
        first.add().unwrap();
        std::array::from_fn(|_| {
            let [bytes, alive] = first.ends().map(|end| end.try_clone_to_owned().unwrap());
            LiveWork::handed_over(bytes, alive)
        })
    }

    #[test]
    fn it_falls_to_one_guard_when_everything_is_dead() {
        let [tenure, first, second] = holds();
        first.begin().unwrap();
        first.end();
        drop(tenure);
        let waits = std::thread::spawn(move || first.falls_to_us(Duration::from_secs(60)));
        let second = second.falls_to_us(Duration::from_secs(60));
        assert_ne!(waits.join().unwrap(), second, "both, or neither");
    }

    #[test]
    fn as_long_as_tenure_lives_it_falls_to_nobody() {
        let [tenure, guard] = holds();
        assert!(!guard.falls_to_us(Duration::from_millis(20)));
        drop(tenure);
    }

    #[test]
    fn after_a_guard_that_was_killed_with_its_command_alive_it_falls_to_nobody() {
        let [tenure, killed, guard] = holds();
        killed.begin().unwrap();
        drop((killed, tenure));
        assert!(!guard.falls_to_us(Duration::from_secs(60)));
    }

    #[test]
    fn what_tenure_has_cleared_up_after_a_guard_that_was_killed_counts_no_more() {
        let [tenure, killed, guard] = holds();
        killed.begin().unwrap();
        drop(killed);
        tenure.end();
        drop(tenure);
        assert!(guard.falls_to_us(Duration::from_secs(60)));
    }
}
