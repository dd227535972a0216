//! The side of `tenure`: launches a guard, sends it orders and receives its reports.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::net::Shutdown;
use rustix::process::{Pid, getpid, set_child_subreaper};
use tenure::crash::StoreAccess;
use tenure_core::Instant;
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::cgroup::{self, Cgroup};
use super::guard;
use super::live_work::LiveWork;
use super::message::{CommandSpec, GuardOrder, GuardReport, LeaseToRelease, TrustDeadlines};
use super::packet::{self, PacketRead};
use super::registry;
use crate::stderr_writer::say;

/// A guard, and the connection to it.
///
/// It runs one command at a time: [`start`](Self::start), then [`trust`](Self::trust) after every renewal, until
/// [`next`](Self::next) reports the end; after that, the next. Orders are sent without waiting; they fail with
/// `WouldBlock` when the guard has not read for so long that the line is full (it was stopped, say), and with
/// `BrokenPipe` when it is dead, which `next` will report. Neither endangers anyone: a guard that hears of no extension
/// ends the command.
///
/// Dropping it makes the guard kill everything at once, as does the death of this process. [`shutdown`](Self::shutdown)
/// does the same and waits for it. Only after a death, or a panic, the guard also releases the lease that it was
/// [told of](Self::lease).
#[derive(Debug)]
pub struct Supervisor {
    /// A stream only in name: tokio has no type for sockets that keep packets apart, but all it does with this one is to
    /// say when there is something to read.
    control: UnixStream,
    guard: GuardProcess,
    busy: bool,
    /// Whether the guard has reported that it is about to start a command, and not what became of it.
    begun: bool,
    live_work: &'static LiveWork,
    /// Whether the guard is well, but cannot end its command.
    stuck: bool,
    /// When a guard that has not confirmed an extension of trust counts as gone.
    heard_by: Option<tokio::time::Instant>,
}

impl Supervisor {
    /// Starts a guard: `guard_program` is this very program, which is run with [`guard::COMMAND`].
    ///
    /// Commands will read from `stdin`, and get the standard output and error of this process. The guard holds `life_line`
    /// open, and nobody else through it, until it ends, which it does not before all it guards is dead. The `hidden`
    /// variables are not in its environment, and so not in that of commands.
    ///
    /// Marks this process as child subreaper, so that what a killed guard leaves behind is handed to it. Everything
    /// that descends from this process but not from one of its guards is then taken for such and killed: processes that
    /// use this have no other children.
    ///
    /// # Errors
    /// When the guard cannot be started.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time enabled.
    pub fn launch(
        guard_program: &Path,
        stdin: BorrowedFd<'_>,
        life_line: Option<OwnedFd>,
        hidden: &[OsString],
    ) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let (ours, theirs) = packet::channel()?;
        let guard = GuardProcess::spawn(guard_program, theirs, hidden)?;
        let live_work = LiveWork::of_this_process()?;
        let [bytes, alive] = live_work.ends();
        let files: Vec<_> = [stdin, bytes, alive].into_iter().chain(life_line.as_ref().map(AsFd::as_fd)).collect();
        packet::send(&ours, &GuardOrder::Hold, &files)?;
        // From here on the guard alone holds it.
        drop(life_line);
        let control = UnixStream::from_std(net::UnixStream::from(ours))?;
        Ok(Self { control, guard, busy: false, begun: false, live_work, stuck: false, heard_by: None })
    }

    /// Tells the guard how to open the store, should this process die.
    ///
    /// # Errors
    /// As told at [`Supervisor`].
    pub fn store(&mut self, access: &StoreAccess) -> io::Result<()> {
        self.order(&GuardOrder::Store(access.clone()))
    }

    /// Tells the guard what to release, should this process die: this lease from now on, or none. It does so after
    /// everything that any guard of this process ran is dead.
    ///
    /// # Errors
    /// As told at [`Supervisor`].
    pub fn lease(&mut self, lease: Option<&LeaseToRelease>) -> io::Result<()> {
        self.order(&GuardOrder::Lease(lease.cloned()))
    }

    /// Orders the guard to start a command. [`next`](Self::next) says whether it did.
    ///
    /// # Errors
    /// `ResourceBusy` when the previous command has not been reported as ended, `ArgumentListTooLong` when the
    /// arguments do not fit into one message, or as told at [`Supervisor`].
    pub fn start(&mut self, work: &CommandSpec) -> io::Result<()> {
        if self.busy {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "the previous command has not ended yet"));
        }
        cgroup::sweep();
        self.order(&GuardOrder::Start(work.clone()))?;
        self.busy = true;
        Ok(())
    }

    /// Sends the guard an extension of trust. It replaces the previous one, unless the command is stopping.
    ///
    /// # Errors
    /// As told at [`Supervisor`].
    pub fn trust(&mut self, trust: TrustDeadlines) -> io::Result<()> {
        self.order(&GuardOrder::Trust(trust))?;
        if self.busy {
            self.heard_by.get_or_insert_with(|| tokio::time::Instant::now() + HEARD_WITHIN);
        }
        Ok(())
    }

    /// Orders the guard to ask the command to stop now, and to kill it at `kill_at`: at once if that is past.
    ///
    /// # Errors
    /// As told at [`Supervisor`].
    pub fn terminate(&mut self, kill_at: Instant) -> io::Result<()> {
        self.order(&GuardOrder::Terminate { kill_at })
    }

    /// Lets the guard send a signal to the process group of the command.
    ///
    /// # Errors
    /// As told at [`Supervisor`].
    pub fn signal(&mut self, signal: i32) -> io::Result<()> {
        self.order(&GuardOrder::Signal(signal))
    }

    /// Kills the guard, and with it the command: the last resort against a guard that does not answer.
    ///
    /// [`next`](Self::next) then reports [`GuardReport::GuardDied`], when everything is dead.
    ///
    /// # Errors
    /// When the guard cannot be signalled.
    pub fn kill_guard(&mut self) -> io::Result<()> {
        self.guard.kill()
    }

    /// Waits for the next report.
    ///
    /// After [`GuardReport::GuardDied`] there is nothing left but to launch another; asked again, it says the same again.
    ///
    /// A guard that was stopped would let the command go on if this process were killed as well: it is killed, and the command
    /// with it, when it has not taken in an extension of trust for four seconds.
    ///
    /// Cancel safe: a call that is dropped loses no report, and the next one goes on where it was.
    pub async fn next(&mut self) -> GuardReport {
        let received = loop {
            let heard_by = self.heard_by;
            tokio::select! {
                // What has been said counts, however late it is heard: this process may have been stopped, too.
                biased;
                received = self.receive() => match received {
                    Ok(PacketRead::Message(GuardReport::Heard, _)) => self.heard_by = None,
                    received => break received,
                },
                () = reach(heard_by) => {
                    self.heard_by = None;
                    say("the guard process does not answer; killing it, and the command with it");
                    // An error means that it has just ended.
                    let _ = self.guard.kill();
                }
            }
        };
        match received {
            Ok(PacketRead::Message(report, _)) => {
                if report == GuardReport::Starting {
                    self.begun = true;
                    self.guard.leave_cgroup_to_guard();
                }
                self.busy =
                    matches!(report, GuardReport::Starting | GuardReport::Started { .. } | GuardReport::Held { .. });
                self.begun &= self.busy;
                self.stuck = matches!(report, GuardReport::Held { dead: false, .. });
                report
            }
            // The line broke, so the guard is dead, or shall be.
            Ok(PacketRead::Closed) | Err(_) => {
                let _ = self.guard.kill();
                self.guard.bury().await;
                if std::mem::take(&mut self.begun) {
                    // The guard had counted it, and cannot take it back.
                    self.live_work.end();
                }
                GuardReport::GuardDied
            }
        }
    }

    /// Orders the guard to kill everything at once, and waits until it is done and gone. A guard that does not answer
    /// in time, for instance because it was stopped, is killed, and the command with it. A guard that has reported
    /// that it cannot end the command is left to wait for that end, holding the life line.
    ///
    /// Returns whether nothing is left, within a bounded time. If it is cancelled, the guard goes on without being waited
    /// for.
    pub async fn shutdown(mut self) -> bool {
        self.take_leave();
        let closed = async {
            while let Ok(PacketRead::Message(report, _)) = self.receive().await {
                if report != GuardReport::Heard {
                    self.stuck = matches!(report, GuardReport::Held { dead: false, .. });
                }
            }
        };
        if tokio::time::timeout(ANSWER_WITHIN, closed).await.is_err() {
            if self.stuck {
                return false;
            }
            // An error means that it has just ended.
            let _ = self.guard.kill();
        }
        tokio::time::timeout(BURIED_WITHIN, self.guard.bury()).await.is_ok()
    }

    /// Lets the guard end. It must not take that for the death of this process.
    fn take_leave(&self) {
        // Errors mean that the line is broken already, or that the guard does not read: it then releases what has been
        // released, which does nothing.
        let _ = self.order(&GuardOrder::Goodbye);
        let _ = rustix::net::shutdown(&self.control, Shutdown::Write);
    }

    fn order(&self, order: &GuardOrder) -> io::Result<()> {
        packet::send(&self.control, order, &[])
    }

    async fn receive(&self) -> io::Result<PacketRead<GuardReport>> {
        loop {
            self.control.readable().await?;
            match self.control.try_io(Interest::READABLE, || packet::receive(&self.control)) {
                // The readiness was stale, and the next turn waits for a new one.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // A panic is a death: the lease is released as soon as the process is gone.
        if !thread::panicking() {
            self.take_leave();
        }
    }
}

/// The guard as a child of this process.
#[derive(Debug)]
struct GuardProcess {
    /// None once it is reaped: only then has the kernel handed over what it left behind.
    child: Option<Child>,
    /// What its commands live in, where there can be such a thing.
    cgroup: Option<Cgroup>,
}

impl GuardProcess {
    fn spawn(program: &Path, control: OwnedFd, hidden: &[OsString]) -> io::Result<Self> {
        let cgroup =
            Cgroup::make().inspect_err(|error| tracing::debug!(%error, "commands run without a control group")).ok();
        let mut command = Command::new(program);
        command.arg(guard::COMMAND).args(cgroup.as_ref().map(Cgroup::path)).stdin(Stdio::from(control));
        for name in hidden {
            command.env_remove(name);
        }
        Ok(Self { child: Some(registry::spawn(&mut command)?), cgroup })
    }

    /// From here on its control group is in use for as long as the guard lives, and no longer. Were this process to be stopped
    /// and its guard killed, the next leader must find what they left behind.
    fn leave_cgroup_to_guard(&mut self) {
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.unlock();
        }
    }

    fn kill(&mut self) -> io::Result<()> {
        self.child.as_mut().map_or(Ok(()), Child::kill)
    }

    /// Waits until the guard, which is ending, is gone, and everything that it left behind too.
    async fn bury(&mut self) {
        // A process that cannot be killed, or only later, is waited for as long as it takes: to report an end that has
        // not come would be a lie on which others act.
        while !self.reap() || !self.clear() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Kills what the guard, which is gone, left behind, and says whether nothing is left.
    fn clear(&self) -> bool {
        // An error means that it no longer exists.
        let _ = self.cgroup.as_ref().map(Cgroup::kill);
        registry::clear_orphans().unwrap_or(false)
    }

    /// Whether the guard itself is gone.
    fn reap(&mut self) -> bool {
        let Some(child) = &mut self.child else { return true };
        if matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        registry::forget(Pid::from_child(child));
        self.child = None;
        true
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        if !self.reap()
            && let Some(child) = self.child.take()
        {
            registry::adopt(child);
        }
    }
}

/// Completes at this time; never without one.
async fn reach(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Far longer than a guard takes to hear of something, on a machine that is busy.
const HEARD_WITHIN: Duration = Duration::from_secs(4);
/// Far longer than a guard takes to kill all it guards, and no longer than anybody likes to wait for an end.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Longer than any process takes to die that can.
const BURIED_WITHIN: Duration = Duration::from_secs(5);
/// How soon to look again for a guard that has just ended, and for what it left behind.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
