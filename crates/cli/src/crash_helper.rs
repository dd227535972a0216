//! The helper of a process that uses the library: it outlives that process, and then releases what it held.
//!
//! It has one thread and watches the process through a descriptor that no other process can come to stand for. That the line
//! closes means nothing: a forked copy of the process may hold it open for long, or somebody may have closed it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;
use rustix::process::{PidfdFlags, Signal, getppid, pidfd_open, setsid};
use tenure::crash::{self, CRASH_HELPER, HelperOrder, OrphanLease, READY, StoreAccess};

/// Second argument of a helper that has left behind what the process had open.
const SETTLED: &str = "settled";
/// How long the one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Whether this is how a process starts its helper.
#[must_use]
pub fn is_meant(first: &OsStr) -> bool {
    first == CRASH_HELPER
}

/// Runs the helper, which is told of leases through its standard input, until its process is gone.
#[must_use]
pub fn run(second: Option<&OsStr>) -> ExitCode {
    let is_settled = second.is_some_and(|second| second == SETTLED);
    let outcome = if is_settled { watch() } else { settle() };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be left to read it.
            let _ = writeln!(io::stderr(), "tenure: the crash helper failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Begins anew without the files that the process had open and that are nobody's business here: a socket that listens, say,
/// which the next process could not use.
fn settle() -> io::Result<()> {
    if !matches!(socket_type(rustix::stdio::stdin()), Ok(SocketType::STREAM)) {
        return Err(io::Error::other(format!("`{CRASH_HELPER}` is internal; the library starts it when asked to")));
    }
    tenure_sys::keep_descriptors_from_children()?;
    Err(Command::new("/proc/self/exe").args([CRASH_HELPER, SETTLED]).exec())
}

fn watch() -> io::Result<()> {
    // It fails only for who has a session already.
    let _ = setsid();
    tenure_sys::outlive_signals(&[Signal::INT, Signal::TERM, Signal::HUP])?;
    let parent = getppid().ok_or_else(|| io::Error::other("there is nobody to watch"))?;
    let process = pidfd_open(parent, PidfdFlags::empty())?;
    let line = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    // Whoever answers this by telling of leases was alive after the descriptor was opened, and so is who it stands for.
    (&line).write_all(&[READY])?;
    line.set_nonblocking(true)?;
    let mut helper = Helper { process, line, unread: Vec::new(), access: None, held: BTreeMap::new() };
    if helper.outlives()? { helper.release() } else { Ok(()) }
}

struct Helper {
    process: OwnedFd,
    line: UnixStream,
    /// What has come and is no whole order yet.
    unread: Vec<u8>,
    access: Option<StoreAccess>,
    held: BTreeMap<u64, (OrphanLease, Duration)>,
}

/// What the line brought.
enum LineRead {
    Nothing,
    Closed,
    Goodbye,
}

impl Helper {
    /// Waits for the end of the process. False if it has taken its leave before.
    fn outlives(&mut self) -> io::Result<bool> {
        let mut is_open = true;
        loop {
            let is_over = wait(&self.process, is_open.then_some(&self.line))?;
            // After the process is gone, the last that it said is still to be read.
            match if is_open { self.listen()? } else { LineRead::Nothing } {
                LineRead::Goodbye => return Ok(false),
                LineRead::Closed => is_open = false,
                LineRead::Nothing => {}
            }
            if is_over {
                return Ok(true);
            }
        }
    }

    fn listen(&mut self) -> io::Result<LineRead> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = match self.line.read(&mut buffer) {
                Ok(0) => return Ok(LineRead::Closed),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(LineRead::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The process died without having read what it was told.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(LineRead::Closed),
                Err(error) => return Err(error),
            };
            self.unread.extend_from_slice(buffer.get(..count).unwrap_or_default());
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                if self.obey(HelperOrder::read(&line)?) {
                    return Ok(LineRead::Goodbye);
                }
            }
        }
    }

    /// Whether that was the goodbye.
    fn obey(&mut self, order: HelperOrder) -> bool {
        match order {
            HelperOrder::Store(access) => self.access = Some(access),
            HelperOrder::Held { candidacy, lease, ttl } => drop(self.held.insert(candidacy, (lease, ttl))),
            HelperOrder::Released { candidacy } => drop(self.held.remove(&candidacy)),
            HelperOrder::Goodbye => return true,
        }
        false
    }

    fn release(self) -> io::Result<()> {
        let Some(access) = self.access.filter(|_| !self.held.is_empty()) else { return Ok(()) };
        let (leases, ttls): (Vec<OrphanLease>, Vec<Duration>) = self.held.into_values().unzip();
        let limit = ttls.into_iter().max().unwrap_or_default().min(ATTEMPT);
        crash::release(access, leases, limit).map_err(io::Error::other)
    }
}

/// Waits until the process is gone, or something has come. Whether it is gone.
fn wait(process: &OwnedFd, line: Option<&UnixStream>) -> io::Result<bool> {
    let sources = [Some(process.as_fd()), line.map(AsFd::as_fd)];
    let mut sources: Vec<_> = sources.iter().flatten().map(|source| PollFd::new(source, PollFlags::IN)).collect();
    loop {
        match poll(&mut sources, None::<&Timespec>) {
            Ok(_) => return Ok(!sources[0].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rustix::process::Pid;

    use super::*;

    const LEASE: &str =
        r#"{"namespace":"default","election":"nightly","nonce":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"term":7}"#;

    /// A helper of a process that runs until it is killed, and the line to the helper.
    fn helper() -> (Helper, std::process::Child, UnixStream) {
        let process = Command::new("sleep").arg("60").spawn().unwrap();
        let (ours, line) = UnixStream::pair().unwrap();
        line.set_nonblocking(true).unwrap();
        let watched = pidfd_open(Pid::from_child(&process), PidfdFlags::empty()).unwrap();
        (Helper { process: watched, line, unread: Vec::new(), access: None, held: BTreeMap::new() }, process, ours)
    }

    fn held(candidacy: u64) -> Vec<u8> {
        let ttl = r#"{"secs":30,"nanos":0}"#;
        format!("{{\"Held\":{{\"candidacy\":{candidacy},\"lease\":{LEASE},\"ttl\":{ttl}}}}}\n").into_bytes()
    }

    #[test]
    fn a_process_is_outlived_although_a_forked_copy_holds_the_line_open() {
        let (mut helper, mut process, mut line) = helper();
        let copy = line.try_clone().unwrap();
        // Halves of orders come, too.
        let (first, rest) = (held(1), held(2));
        line.write_all(&first).unwrap();
        line.write_all(&rest[..rest.len() / 2]).unwrap();
        let outlives = thread::spawn(move || (helper.outlives().unwrap(), helper.held.len()));
        line.write_all(&rest[rest.len() / 2..]).unwrap();
        drop(line);
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(outlives.join().unwrap(), (true, 2));
        drop(copy);
    }

    #[test]
    fn a_line_that_closes_says_nothing_and_a_goodbye_says_all() {
        let (mut closed, mut process, line) = helper();
        drop(line);
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(closed.outlives().unwrap());
        let (mut left, mut process, mut line) = helper();
        line.write_all(&held(1)).unwrap();
        line.write_all(b"{\"Released\":{\"candidacy\":1}}\n\"Goodbye\"\n").unwrap();
        assert!(!left.outlives().unwrap() && left.held.is_empty());
        process.kill().unwrap();
        process.wait().unwrap();
    }
}
