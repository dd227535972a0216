//! The side of the watched process: starts the helper and keeps it informed.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::order::{HelperOrder, READY};
use super::{CRASH_HELPER, OrphanLease, StoreAccess, credential_variables};

/// Informs the helper of this process. When the last clone is dropped, the helper is told that all is well, and ends.
#[derive(Debug, Clone)]
pub(crate) struct CrashHelper {
    orders: Sender<HelperOrder>,
}

/// How long a helper may take to start.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// A helper that dies is replaced, but not again and again.
const REPLACED_EVERY: Duration = Duration::from_secs(10);

impl CrashHelper {
    /// Starts a helper for the store of this address.
    ///
    /// # Errors
    /// When the program cannot be started, or is no `tenure` of this version.
    pub(crate) fn start(program: &Path, address: &str) -> io::Result<Self> {
        let (orders, told) = channel();
        let access = StoreAccess::by_address(address);
        let hidden = credential_variables(address);
        let mut informer = Informer::new(program.to_owned(), access, hidden)?;
        // A thread of its own: a helper that is stopped does not read, and nobody else must wait for that.
        thread::Builder::new().name("tenure-helper".to_owned()).spawn(move || informer.run(&told))?;
        Ok(Self { orders })
    }

    /// A candidacy holds this lease.
    pub(crate) fn holds(&self, candidacy: u64, lease: OrphanLease, ttl: Duration) {
        self.tell(HelperOrder::Held { candidacy, lease, ttl });
    }

    /// A candidacy holds none any more.
    pub(crate) fn holds_none(&self, candidacy: u64) {
        self.tell(HelperOrder::Released { candidacy });
    }

    fn tell(&self, order: HelperOrder) {
        // It fails only when the thread has panicked: the lease then runs out, as without a helper.
        let _ = self.orders.send(order);
    }
}

/// Keeps what a helper has to know, for the next one in case it dies.
struct Informer {
    program: PathBuf,
    access: StoreAccess,
    /// Variables that the helper is handed instead of finding them in its environment.
    hidden: &'static [&'static str],
    held: BTreeMap<u64, HelperOrder>,
    running: Option<RunningHelper>,
    replaced_at: Instant,
}

struct RunningHelper {
    child: Child,
    line: UnixStream,
}

impl Informer {
    fn new(program: PathBuf, access: StoreAccess, hidden: &'static [&'static str]) -> io::Result<Self> {
        let (held, replaced_at) = (BTreeMap::new(), Instant::now());
        let mut informer = Self { program, access, hidden, held, running: None, replaced_at };
        informer.launch()?;
        Ok(informer)
    }

    fn run(&mut self, told: &Receiver<HelperOrder>) {
        while let Ok(order) = told.recv() {
            match &order {
                HelperOrder::Held { candidacy, .. } => drop(self.held.insert(*candidacy, order.clone())),
                HelperOrder::Released { candidacy } => drop(self.held.remove(candidacy)),
                HelperOrder::Store(_) | HelperOrder::Goodbye => {}
            }
            if !self.send(&order) {
                self.replace();
            }
        }
        self.send(&HelperOrder::Goodbye);
        self.bury();
    }

    /// Whether the helper has been told.
    fn send(&mut self, order: &HelperOrder) -> bool {
        let Some(running) = &mut self.running else { return false };
        order.line().and_then(|line| running.line.write_all(&line)).is_ok()
    }

    /// The helper is gone: another one is told all that it knew.
    fn replace(&mut self) {
        self.bury();
        if self.replaced_at.elapsed() < REPLACED_EVERY {
            return;
        }
        self.replaced_at = Instant::now();
        match self.launch() {
            Ok(()) => log!(warn, "the crash helper was gone; started another one"),
            Err(error) => log!(warn, "the crash helper was gone, and there cannot be another one: {error}"),
        }
    }

    fn bury(&mut self) {
        if let Some(RunningHelper { mut child, line }) = self.running.take() {
            drop(line);
            // Somebody else in this process may have reaped it.
            let _ = child.wait();
        }
    }

    fn launch(&mut self) -> io::Result<()> {
        let (line, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.program);
        command.arg(CRASH_HELPER).stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        for name in self.hidden.iter().chain(&["TENURE_STORE"]) {
            command.env_remove(name);
        }
        let child = command.spawn()?;
        // It holds the other end, and nobody else does: reading ends with the helper.
        drop(command);
        line.set_read_timeout(Some(READY_WITHIN))?;
        let mut answer = [0];
        let mut running = RunningHelper { child, line };
        if !matches!(running.line.read(&mut answer), Ok(1)) || answer != [READY] {
            let _ = running.child.kill();
            let _ = running.child.wait();
            let why =
                "it does not answer as a crash helper; name the program of tenure, in the version of this library";
            return Err(io::Error::other(why));
        }
        self.running = Some(running);
        let orders: Vec<HelperOrder> =
            std::iter::once(HelperOrder::Store(self.access.clone())).chain(self.held.values().cloned()).collect();
        if orders.iter().all(|order| self.send(order)) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}
