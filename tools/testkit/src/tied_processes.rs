//! Processes that end with this one, however it ends.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::process::Signal;

use crate::running::RunningProcess;

/// Starts a process that ends when it is dropped, and also when this process is gone before that could happen: it was
/// killed, or the process is kept in a `static`, which nobody drops.
///
/// The kernel ends the child of a *thread* that ends, and tests run in threads that do. So all of them are started by one
/// thread that never ends.
///
/// # Errors
/// The command could not be started.
pub fn start(command: Command) -> io::Result<RunningProcess> {
    start_until(command, Signal::KILL)
}

/// Starts a process that is sent this signal when this process is gone, for one that has to clear up then.
///
/// # Errors
/// The command could not be started.
pub fn start_until(command: Command, orphaned: Signal) -> io::Result<RunningProcess> {
    static TIED_PROCESSES: OnceLock<Sender<SpawnRequest>> = OnceLock::new();
    let requests = TIED_PROCESSES.get_or_init(|| {
        let (sender, requests) = channel();
        thread::Builder::new().name("tied-processes".into()).spawn(move || serve(&requests)).unwrap();
        sender
    });
    let (answer, answered) = channel();
    requests.send(SpawnRequest { command, orphaned, answer }).unwrap();
    answered.recv().unwrap().map(RunningProcess::of)
}

struct SpawnRequest {
    command: Command,
    orphaned: Signal,
    answer: Sender<io::Result<Child>>,
}

fn serve(requests: &Receiver<SpawnRequest>) {
    for SpawnRequest { mut command, orphaned, answer } in requests {
        tenure_sys::signal_with_parent(&mut command, orphaned);
        // Whoever asked has ended meanwhile if this fails, and the child is nobody's then.
        if let Err(unwanted) = answer.send(command.spawn()) {
            drop(unwanted.0.map(RunningProcess::of));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PATIENCE;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("600");
        command
    }

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it_and_not_its_handle() {
        let child = thread::spawn(|| start(sleeper()).unwrap()).join().unwrap();
        let process = child.process.clone();
        assert!(!process.is_dead());
        drop(child);
        assert!(process.ends_within(PATIENCE));
    }

    #[test]
    fn a_command_that_does_not_exist_is_an_error() {
        assert!(start(Command::new("no-such-command")).is_err());
    }
}
