//! What is looked at before anything is begun: whether anybody can hear what is told, and whether there is room to work.

use std::io;

use rustix::io::Errno;
use tenure_sys::{StandardStream, was_closed_at_start};

use crate::args::Command;
use crate::exit::{CommandError, Exit};

/// So many file descriptors are enough for every command and store, with the runtime, signals and a guard.
const DESCRIPTORS: usize = 32;

/// Whether this command can do its work here.
///
/// # Errors
/// When what it prints goes nowhere, or the system gives too little.
pub fn check(command: &Command) -> Result<(), CommandError> {
    heard(command)?;
    check_descriptors()
}

/// A message that was acknowledged because it was printed must not vanish because nothing was open to print to.
fn heard(command: &Command) -> Result<(), CommandError> {
    let Some(stream) = command.prints_to().filter(|stream| was_closed_at_start(*stream)) else { return Ok(()) };
    let name = match stream {
        StandardStream::Output => "standard output",
        StandardStream::Error => "standard error",
    };
    let message = format!("{name} is closed, so nobody would see what is printed; open it, or send it to /dev/null");
    Err(CommandError::new(Exit::OutputFailed, message))
}

/// Whoever runs out of them in the middle of something fails in many ways, and libraries panic.
fn check_descriptors() -> Result<(), CommandError> {
    // They are given back at the end of this.
    let opened: Result<Vec<_>, Errno> = (0..DESCRIPTORS).map(|_| rustix::io::dup(io::stdin())).collect();
    opened.map(drop).map_err(|error| {
        let message = format!(
            "tenure needs {DESCRIPTORS} file descriptors of its own, and the system gives fewer ({error}); raise the limit \
             with `ulimit -n`, or LimitNOFILE= of systemd"
        );
        CommandError::new(Exit::NoResources, message)
    })
}
