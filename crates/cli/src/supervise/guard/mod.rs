//! The guard: the process that ends the command on time, with or without `tenure`.
//!
//! It has one thread, no runtime and nothing to wait for but four things: orders, the timer, the end of the command and
//! signals. It writes nothing while it guards something, because whoever reads its output might have stopped reading.

mod crash_release;
mod schedule;
mod task;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{Shutdown, SocketType, shutdown};
use rustix::process::{Signal, getpid, set_child_subreaper, setsid};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tenure_core::Instant;

use self::crash_release::CrashRelease;
use self::task::Task;
use super::cgroup::Cgroup;
use super::clock::{self, NANOS_PER_SECOND};
use super::live_work::LiveWork;
use super::message::{CommandSpec, GuardOrder, GuardReport, SpawnFailure};
use super::packet::{self, PacketRead};
use super::procfs;

/// The hidden command with which `tenure` starts itself as a guard.
pub const COMMAND: &str = "__guard";

/// Runs the guard, whose orders come from its standard input, until `tenure` is gone and nothing is left to guard. The
/// argument, if there is one, is the control group for its commands.
#[must_use]
pub fn run(cgroup: Option<OsString>) -> ExitCode {
    match prepare().and_then(|()| Guard::new(cgroup)).and_then(Guard::serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be left to read it.
            let _ = writeln!(io::stderr(), "tenure: the guard failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn prepare() -> io::Result<()> {
    if !matches!(socket_type(rustix::stdio::stdin()), Ok(SocketType::SEQPACKET)) {
        return Err(io::Error::other(format!("`{COMMAND}` is internal; tenure starts it when needed")));
    }
    procfs::check()?;
    // A session of its own keeps signals of the terminal away. It fails only for who has one already.
    let _ = setsid();
    tenure_sys::outlive_signals(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::CHILD])?;
    tenure_sys::keep_descriptors_from_children()?;
    set_child_subreaper(Some(getpid()))?;
    // It sleeps nearly always, and what it ends must not outlive its trust because the machine is busy. Not everybody may.
    let _ = tenure_sys::run_before_others();
    Ok(())
}

struct Guard {
    control: BorrowedFd<'static>,
    timer: OwnedFd,
    /// The standard input for commands.
    stdin: Option<OwnedFd>,
    /// Held, never used: that it closes tells a rival that everything is dead, and released if it could be.
    life_line: Option<OwnedFd>,
    /// What commands live in, where there can be such a thing. It is removed with the guard.
    cgroup: Option<Cgroup>,
    task: Option<Task>,
    /// What to do about the lease when `tenure` has died.
    crash_release: CrashRelease,
    /// Whether `tenure` is gone, so that only the end of the task is waited for.
    closing: bool,
}

impl Guard {
    fn new(cgroup: Option<OsString>) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let control = rustix::stdio::stdin();
        // One that is gone already is not worth failing for: `tenure` is gone as well, or descendants are found without it.
        let cgroup = cgroup.and_then(|path| Cgroup::open(Path::new(&path)).ok());
        Ok(Self {
            control,
            timer,
            stdin: None,
            life_line: None,
            cgroup,
            task: None,
            crash_release: CrashRelease::default(),
            closing: false,
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut outcome = Ok(());
        loop {
            // Orders first: after a pause, the extension of trust that saves the command may be among them.
            self.listen();
            self.tend();
            if self.closing && self.task.is_none() {
                if outcome.is_ok() {
                    // Should `tenure` be there after all, it must not take this one for a guard that takes orders.
                    let _ = shutdown(self.control, Shutdown::Both);
                    self.crash_release.carry_out(self.life_line);
                }
                return outcome;
            }
            if let Err(error) = self.wait() {
                // Who cannot wait cannot keep deadlines: end everything, looking for that end without waiting for it.
                outcome = Err(error);
                self.close();
                thread::sleep(WITHOUT_WAITING);
            }
        }
    }

    /// Takes the orders that have come. Anything but an order means that there is no longer a `tenure` to obey.
    fn listen(&mut self) {
        for _ in 0..ORDERS_PER_ROUND {
            if self.closing {
                return;
            }
            match packet::receive(self.control) {
                Ok(PacketRead::Message(order, files)) => self.on_order(order, files),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(PacketRead::Closed) | Err(_) => self.close(),
            }
        }
    }

    fn on_order(&mut self, order: GuardOrder, files: Vec<OwnedFd>) {
        match (order, &mut self.task) {
            (GuardOrder::Hold, _) => {
                let mut files = files.into_iter();
                self.stdin = files.next();
                if let (Some(bytes), Some(alive)) = (files.next(), files.next()) {
                    self.crash_release.shares(LiveWork::handed_over(bytes, alive));
                }
                self.life_line = files.next();
            }
            (GuardOrder::Store(access), _) => self.crash_release.knows(access),
            (GuardOrder::Lease(lease), _) => self.crash_release.holds(lease),
            (GuardOrder::Goodbye, _) => self.crash_release.forget(),
            (GuardOrder::Start(work), None) => self.start(&work),
            // Two commands at once would break the promise that one report speaks for everything.
            (GuardOrder::Start(_), Some(_)) => self.close(),
            (GuardOrder::Trust(trust), task) => {
                if let Some(task) = task {
                    task.schedule.trust(trust);
                }
                self.report(&GuardReport::Heard);
            }
            (GuardOrder::Terminate { kill_at }, Some(task)) => task.schedule.terminate(kill_at),
            (GuardOrder::Signal(number), Some(task)) => task.forward(number),
            // The command ended while the order was under way.
            (GuardOrder::Terminate { .. } | GuardOrder::Signal(_), None) => {}
        }
    }

    fn start(&mut self, work: &CommandSpec) {
        if clock::now() >= work.trust.stop_at {
            let message = "this term's trust ended before the command could start".to_owned();
            return self.report(&GuardReport::SpawnFailed { kind: SpawnFailure::TrustEnded, message });
        }
        if let Err(error) = self.crash_release.begin() {
            let message = format!("cannot count one more command: {error}");
            return self.report(&GuardReport::SpawnFailed { kind: SpawnFailure::NoResources, message });
        }
        // Nothing begins that `tenure` does not know of: it would take it for one that never began, and begin it again.
        if packet::send(self.control, &GuardReport::Starting, &[]).is_err() {
            self.crash_release.end();
            return self.close();
        }
        match Task::spawn(work, self.stdin.as_ref().map(AsFd::as_fd), self.cgroup.as_ref()) {
            Ok(task) => {
                self.report(&GuardReport::Started { pid: task.main_id() });
                self.task = Some(task);
            }
            Err((kind, message)) => {
                self.report(&GuardReport::SpawnFailed { kind, message });
                self.crash_release.end();
            }
        }
    }

    fn close(&mut self) {
        self.closing = true;
        if let Some(task) = &mut self.task {
            task.schedule.terminate(Instant::ZERO);
        }
    }

    /// Does what is due for the task, and reports its end.
    fn tend(&mut self) {
        let Some(task) = &mut self.task else { return };
        for report in task.tend(clock::now(), self.cgroup.as_ref()) {
            self.report(&report);
            if !matches!(report, GuardReport::Held { .. }) {
                self.task = None;
                // Not before the report: `tenure` counts what a guard has not reported as alive if that guard dies.
                self.crash_release.end();
            }
        }
    }

    fn report(&self, report: &GuardReport) {
        // It fails only when `tenure` is gone, which the next look for orders will show: there are few reports per order,
        // so the buffer never fills.
        let _ = packet::send(self.control, report, &[]);
    }

    /// Waits until there is something to do.
    fn wait(&self) -> io::Result<()> {
        // Setting the timer anew also forgets that it went off.
        let wake_at = self.task.as_ref().map(|task| task.wake_at(clock::now()));
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer_value(wake_at))?;
        let control = if self.closing { None } else { Some(self.control) };
        let main = self.task.as_ref().and_then(Task::main_alive);
        let sources = [Some(self.timer.as_fd()), control, main];
        let mut sources: Vec<_> = sources.iter().flatten().map(|source| PollFd::new(source, PollFlags::IN)).collect();
        match poll(&mut sources, None) {
            // A signal: most likely an orphan that has ended and wants to be reaped.
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The setting that lets a timer go off at `wake_at`, or never.
fn timer_value(wake_at: Option<Instant>) -> Itimerspec {
    // Zero would disarm the timer, and one nanosecond after the start of the machine is just as much in the past.
    let nanos = wake_at.map_or(0, |at| at.as_nanos().max(1));
    let part = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
    let value = Timespec { tv_sec: part(nanos / NANOS_PER_SECOND), tv_nsec: part(nanos % NANOS_PER_SECOND) };
    Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value }
}

/// How many orders are taken before the clock is looked at again; far more than ever queue up.
const ORDERS_PER_ROUND: usize = 256;
/// How often to look when the kernel would not let us wait.
const WITHOUT_WAITING: Duration = Duration::from_millis(5);
