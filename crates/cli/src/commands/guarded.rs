//! A guard and its command under a leadership: common to `run`, `lock` and `cron`.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use tenure::crash::OrphanLease;
use tenure::{Client, Clock, Instant, Leadership, Term, Timing, Work as LeaderWork};

use crate::exit::{CommandError, Exit};
use crate::options::Credentials;
use crate::stderr_writer::say;
use crate::supervise::{
    CommandExit, CommandSpec, GuardReport, LeaseToRelease, SpawnFailure, Supervisor, TrustDeadlines,
};

/// A guard, and the command that it runs, if any.
pub(super) struct Guarded {
    client: Client,
    stdin: Stdin,
    timing: Timing,
    credentials: Credentials,
    supervisor: Supervisor,
    /// What the guard was told to release, should this process die.
    lease: Option<LeaseToRelease>,
    /// Held while the command, or anything it left behind, is alive: the lease is not released before.
    work: Option<LeaderWork>,
    /// When to stop waiting for a guard that has not reported the start of the command, or its end.
    overdue_at: Option<Instant>,
    /// A process of the command that was killed and is still there, and when to stop waiting for its end.
    stuck: Option<(u32, Instant)>,
}

/// What commands read from.
#[derive(Clone, Copy)]
pub(super) enum Stdin {
    /// The standard input of this process.
    Own,
    /// Nothing: there may be several of them at once.
    Empty,
}

/// What is to be run.
pub(super) struct Program<'a> {
    /// The program and its arguments.
    pub(super) command: &'a [OsString],
    /// Variables besides those that tell of the leadership.
    pub(super) env: Vec<(OsString, OsString)>,
    /// Where to run it, if not here.
    pub(super) directory: Option<OsString>,
}

/// What became of the command.
pub(super) enum CommandUpdate {
    /// It is about to be started, and counts as begun from here on.
    Starting,
    /// It runs.
    Started,
    /// It was not started: its trust was over before.
    TooLate,
    /// It cannot be started.
    Failed(SpawnFailure, String),
    /// It ended by itself, and all its descendants are dead.
    Ended(CommandExit),
    /// It was ended before it was done: it was told to, its trust ran out, or its guard died. There is another guard now.
    Cut,
    /// It cannot be ended: something holds on to one of its processes. The lease is not released.
    Stuck,
}

impl Guarded {
    /// Starts a guard. Neither it nor its commands have the credentials in their environment.
    pub(super) fn launch(
        client: &Client,
        stdin: Stdin,
        timing: Timing,
        credentials: Credentials,
    ) -> Result<Self, CommandError> {
        let supervisor = launch(client, stdin, &credentials, None)?;
        Ok(Self {
            client: client.clone(),
            stdin,
            timing,
            credentials,
            supervisor,
            lease: None,
            work: None,
            overdue_at: None,
            stuck: None,
        })
    }

    /// Starts a command under a leadership, trusted so far. [`next`](Self::next) says what becomes of it, also if it is
    /// too late for one.
    ///
    /// # Errors
    /// When the arguments are too long to be passed on; nothing runs then.
    pub(super) fn start(&mut self, program: Program<'_>, work: LeaderWork, trust: TrustDeadlines) -> io::Result<()> {
        let Program { command, mut env, directory } = program;
        self.holds(Some(work.leadership()));
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        env.push((OsString::from("TENURE_TERM"), OsString::from(work.leadership().term().to_string())));
        let order = CommandSpec {
            program: program.clone(),
            args: args.to_vec(),
            env_set: env,
            // The command has no business with the store. Nor does its guard have these, whose environment it could read.
            env_remove: self.credentials.hidden.clone(),
            directory,
            grace: self.timing.grace(),
            trust,
        };
        match self.supervisor.start(&order) {
            Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => Err(error),
            started => {
                self.work = Some(work);
                // A guard that was stopped does not even say that it cannot start the command.
                self.overdue_at = Some(trust.stop_at);
                if started.is_err() {
                    self.replace_the_guard();
                }
                Ok(())
            }
        }
    }

    /// What becomes of the command. Cancel safe.
    ///
    /// # Errors
    /// When the guard has died and there cannot be another.
    pub(super) async fn next(&mut self) -> Result<CommandUpdate, CommandError> {
        loop {
            let report = tokio::select! {
                report = self.supervisor.next() => report,
                () = reach(self.stuck.map(|(_, until)| until)) => {
                    self.tell_of_the_stuck();
                    return Ok(CommandUpdate::Stuck);
                }
                () = reach(self.overdue_at) => {
                    self.replace_the_guard();
                    continue;
                }
            };
            return Ok(match report {
                GuardReport::Starting => CommandUpdate::Starting,
                GuardReport::Started { pid } => {
                    tracing::info!(pid, "the command has started");
                    if self.leads() {
                        self.overdue_at = None;
                    }
                    CommandUpdate::Started
                }
                GuardReport::SpawnFailed { kind: SpawnFailure::TrustEnded, .. } => CommandUpdate::TooLate,
                GuardReport::SpawnFailed { kind, message } => CommandUpdate::Failed(kind, message),
                GuardReport::Ended(exit) => CommandUpdate::Ended(exit),
                GuardReport::Stopped(_) => CommandUpdate::Cut,
                GuardReport::Held { pid, dead: true } => {
                    say(&format!("process {pid} of the command is dead but{}; not waiting for it", holder(pid)));
                    continue;
                }
                // Between the guard and its supervisor.
                GuardReport::Heard => continue,
                GuardReport::Held { pid, dead: false } => {
                    // The guard is well, and goes on trying.
                    self.overdue_at = None;
                    self.stuck = Some((pid, Clock::boottime().now() + DEAD_WITHIN));
                    continue;
                }
                GuardReport::GuardDied => {
                    let told = if self.work.is_some() { "; the command was killed with it" } else { "" };
                    say(&format!("the guard process was killed{told}"));
                    self.supervisor = launch(&self.client, self.stdin, &self.credentials, self.lease.as_ref())?;
                    CommandUpdate::Cut
                }
            });
        }
    }

    /// The command, whatever became of it, is over, and nothing is left of it.
    pub(super) fn is_over(&mut self) {
        self.work = None;
        self.overdue_at = None;
        self.stuck = None;
    }

    /// The command cannot be ended: its work counts for as long as this process lives, so that the lease is not released.
    pub(super) fn leave(&mut self) {
        std::mem::forget(self.work.take());
    }

    /// This process holds the lease of this leadership, or none: the guard is told what to release should this process die.
    pub(super) fn holds(&mut self, leadership: Option<&Leadership>) {
        let ttl = self.timing.ttl();
        let lease = leadership.and_then(OrphanLease::of).map(|held| LeaseToRelease { held, ttl });
        if lease == self.lease {
            return;
        }
        if let Err(error) = self.supervisor.lease(lease.as_ref()) {
            tracing::warn!(%error, "cannot tell the guard of the lease");
        }
        self.lease = lease;
    }

    /// The trust in a term was extended.
    pub(super) fn trust(&mut self, term: Term, trust: TrustDeadlines) {
        if self.leadership().is_some_and(|leadership| leadership.term() == term) {
            self.order(|supervisor| supervisor.trust(trust));
        }
    }

    /// Asks the command to end now, and ends it at `kill_at`. A guard that does not is not waited for much longer.
    pub(super) fn terminate(&mut self, kill_at: Instant) {
        self.hurry(kill_at);
        let patience = self.timing.reaction() / 4 * 3;
        self.overdue_at = self.work.as_ref().map(|_| kill_at.max(Clock::boottime().now()) + patience);
    }

    /// Asks the command to end now, and ends it at `kill_at` unless it is to be ended sooner anyway.
    pub(super) fn hurry(&mut self, kill_at: Instant) {
        self.order(|supervisor| supervisor.terminate(kill_at));
    }

    /// Passes a signal on to the command.
    pub(super) fn signal(&mut self, signal: i32) {
        self.order(|supervisor| supervisor.signal(signal));
    }

    /// Whether there is a command, or anything left of one.
    pub(super) fn is_busy(&self) -> bool {
        self.work.is_some()
    }

    /// The term that the command runs under.
    pub(super) fn term(&self) -> Option<Term> {
        self.leadership().map(Leadership::term)
    }

    /// Whether the term that the command runs under still leads.
    pub(super) fn leads(&self) -> bool {
        self.leadership().is_some_and(|leadership| !leadership.is_cancelled())
    }

    /// Whether nobody else can lead yet, although this one may have lost.
    pub(super) fn is_valid(&self) -> bool {
        self.leadership().is_some_and(Leadership::is_valid)
    }

    /// Ends the guard, and with it whatever it runs. If that cannot be ended, the lease is not released.
    pub(super) async fn shutdown(mut self) {
        self.tell_of_the_stuck();
        let Self { supervisor, work, .. } = self;
        if !supervisor.shutdown().await {
            say("a process of the command was killed but has not ended yet; not waiting for it");
            std::mem::forget(work);
        }
    }

    /// Says, once, that nobody can end the command, so that nobody waits for it.
    fn tell_of_the_stuck(&mut self) {
        if let Some((pid, _)) = self.stuck.take() {
            say(&format!(
                "process {pid} of the command was killed but is{}; the lease is left to run out, and the guard stays until \
                 the process has ended",
                holder(pid)
            ));
        }
    }

    fn leadership(&self) -> Option<&Leadership> {
        self.work.as_ref().map(LeaderWork::leadership)
    }

    /// A guard that was stopped, or is dead, can neither start nor kill. Killed itself, it takes the command along, and its
    /// death is reported.
    fn replace_the_guard(&mut self) {
        self.overdue_at = None;
        say("the guard process does not answer; killing it, and the command with it");
        if let Err(error) = self.supervisor.kill_guard() {
            tracing::error!(%error, "cannot kill the guard");
        }
    }

    /// An order that does not arrive endangers nobody: a guard that hears nothing ends the command in time.
    fn order(&mut self, order: impl FnOnce(&mut Supervisor) -> io::Result<()>) {
        if self.work.is_none() {
            return;
        }
        if let Err(error) = order(&mut self.supervisor) {
            tracing::warn!(%error, "cannot send an order to the guard");
        }
    }
}

/// Who keeps a process from going, as far as the kernel tells.
fn holder(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map(str::trim);
    match tracer {
        Some(tracer) if tracer != "0" => format!(" held by process {tracer}, which traces it"),
        _ => " held by the kernel".to_owned(),
    }
}

/// What commands are told of the election they run in, besides the term.
pub(super) fn env_for(candidacy: &tenure::Candidacy) -> Vec<(OsString, OsString)> {
    let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    vec![set("TENURE_ELECTION", candidacy.name().as_str()), set("TENURE_CANDIDATE", candidacy.candidate().as_str())]
}

/// What the guard has to know of the library's trust.
pub(super) fn until(trust: tenure::Trust) -> TrustDeadlines {
    TrustDeadlines { stop_at: trust.stop_at, kill_at: trust.kill_at }
}

/// Completes when the time has come; never without one.
pub(super) async fn reach(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep(at.saturating_since(Clock::boottime().now())).await,
        None => std::future::pending().await,
    }
}

/// The very program that runs now, even when its file was replaced since.
fn launch(
    client: &Client,
    stdin: Stdin,
    credentials: &Credentials,
    lease: Option<&LeaseToRelease>,
) -> Result<Supervisor, CommandError> {
    let program = Path::new("/proc/self/exe");
    let hidden = &credentials.hidden;
    let launched = match stdin {
        Stdin::Own => Supervisor::launch(program, rustix::stdio::stdin(), client.store().life_line(), hidden),
        Stdin::Empty => {
            let empty = File::open("/dev/null");
            empty.and_then(|empty| Supervisor::launch(program, empty.as_fd(), client.store().life_line(), hidden))
        }
    };
    let informed = launched.and_then(|mut supervisor| {
        supervisor.store(&credentials.access)?;
        supervisor.lease(lease)?;
        Ok(supervisor)
    });
    informed.map_err(|error| CommandError::new(Exit::Internal, format!("cannot start the guard process: {error}")))
}

/// Longer than any process takes to die that can.
const DEAD_WITHIN: Duration = Duration::from_secs(3);
