//! What a guard does for the lease when `tenure` has died without a word.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use tenure::crash::{self, StoreAccess};

use super::super::live_work::LiveWork;
use super::super::message::LeaseToRelease;

/// What it takes to release the lease. It is kept in this process alone, and dropped when `tenure` takes its leave.
#[derive(Default)]
pub(super) struct CrashRelease {
    live_work: Option<LiveWork>,
    access: Option<StoreAccess>,
    lease: Option<LeaseToRelease>,
}

impl CrashRelease {
    pub(super) fn shares(&mut self, live_work: LiveWork) {
        self.live_work = Some(live_work);
    }

    pub(super) fn knows(&mut self, access: StoreAccess) {
        self.access = Some(access);
    }

    pub(super) fn holds(&mut self, lease: Option<LeaseToRelease>) {
        self.lease = lease;
    }

    /// `tenure` takes its leave.
    pub(super) fn forget(&mut self) {
        (self.access, self.lease) = (None, None);
    }

    /// A command is about to be started. It must not be if that cannot be counted: others could take it for dead.
    pub(super) fn begin(&self) -> io::Result<()> {
        self.live_work.as_ref().map_or(Ok(()), LiveWork::begin)
    }

    /// The command, and everything it has started, is dead.
    pub(super) fn end(&self) {
        if let Some(live_work) = &self.live_work {
            live_work.end();
        }
    }

    /// Releases the lease if that falls to this guard, which guards nothing any more. A rival that waits at the life line
    /// gets its turn afterwards.
    pub(super) fn carry_out(self, life_line: Option<OwnedFd>) {
        let Self { live_work: Some(live_work), access: Some(access), lease: Some(lease) } = self else { return };
        let LeaseToRelease { held, ttl } = lease;
        // Whatever `tenure` was granted has run out after that.
        if !live_work.falls_to_us(ttl) {
            return;
        }
        let limit = if life_line.is_some() { BESIDE_A_LIFE_LINE } else { ATTEMPT };
        let released = crash::release(access, vec![held], limit.min(ttl));
        drop(life_line);
        if let Err(error) = released {
            let _ = writeln!(io::stderr(), "tenure: cannot release the lease after a crash; it runs out: {error}");
        }
    }
}

/// How long the one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The same where a rival waits for the end of this process, and needs nothing else.
const BESIDE_A_LIFE_LINE: Duration = Duration::from_secs(1);
