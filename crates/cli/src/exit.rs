//! Exit codes, all in one place. `tenure help` prints the same list.

use std::process::ExitCode;

use crate::supervise::{CommandExit, SpawnFailure};

/// The ways in which `tenure` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Success,
    /// A negative result: no such leader, a failed check.
    Failure,
    /// Invalid command line, name, duration, message or crontab. Nothing was done.
    Usage,
    /// The store cannot be reached or used.
    StoreUnavailable,
    /// An internal error.
    Internal,
    /// The system provides too few file descriptors or processes.
    NoResources,
    /// Output cannot be written, or was closed from the beginning.
    OutputFailed,
    /// Another candidate leads, and waiting was not wanted or not enough.
    NotElected,
    /// The lock was lost while the command ran; the command was stopped.
    LockLost,
    /// The command exists but cannot be executed.
    NotExecutable,
    /// There is no such command.
    NotFound,
    /// `tenure` was ended by this signal, after it stopped the command and resigned.
    Signalled(i32),
    /// The command exited by itself, with this status.
    Command(CommandExit),
}

/// The list for the help text and the documentation.
pub const EXIT_CODES: &str = "\
Exit codes:
  0        success; for `run` and `lock`, the command's own code
  1        negative result (no leader to ask, no such message or job, a failed check of `doctor`,
           `status --leads` names a candidate that does not lead), or the record of an election is
           damaged
  2        invalid command line, name, duration, message or crontab; nothing was done
  69       the store cannot be reached or used: no answer, login refused, or no such database,
           schema or directory; for commands that only read or ask, also: no such file. `run`,
           `lock`, `cron` and `elect` keep trying, unless told otherwise (`--fail-fast` at startup,
           `--no-wait`), or unless a SQLite file cannot be opened at startup
  70       internal error; please report it
  71       the system provides too few file descriptors at startup (nothing was done), or no further
           process for the command; `run --restart always` and `on-failure` keep trying
  74       standard output was closed at startup or cannot be written to; for `elect`, also: its
           reader has gone away. With `run --json`, `lock --json` and `cron --json`: standard error
           was closed at startup, or events could not be written there and the code would be 0
  75       another candidate leads, and `--no-wait` was given or the waiting time is over
  76       the lock was lost while the command ran; the command was stopped
  126      the command cannot be executed
  127      the command was not found
  128+N    ended by signal N: `tenure` itself (after it stopped the command and resigned), or the
           command";

impl Exit {
    /// The exit code of the process.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::StoreUnavailable => 69,
            Self::Internal => 70,
            Self::NoResources => 71,
            Self::OutputFailed => 74,
            Self::NotElected => 75,
            Self::LockLost => 76,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Signalled(signal) | Self::Command(CommandExit::Signal(signal)) => {
                u8::try_from(128 + signal).unwrap_or(255)
            }
            // The kernel keeps eight bits of a code, so this loses nothing.
            Self::Command(CommandExit::Code(code)) => u8::try_from(code & 0xff).unwrap_or(255),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<SpawnFailure> for Exit {
    fn from(failure: SpawnFailure) -> Self {
        match failure {
            SpawnFailure::NotFound => Self::NotFound,
            SpawnFailure::NotExecutable => Self::NotExecutable,
            SpawnFailure::NoResources => Self::NoResources,
            SpawnFailure::TrustEnded | SpawnFailure::Other => Self::Internal,
        }
    }
}

/// An exit code with a message for the user.
#[derive(Debug)]
pub struct CommandError {
    /// The exit code.
    pub exit: Exit,
    /// The error with the offending value, and what to do about it.
    pub message: String,
}

impl CommandError {
    /// Creates an error with this code and this message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

impl From<tenure::Error> for CommandError {
    fn from(error: tenure::Error) -> Self {
        let exit = match &error {
            tenure::Error::Store(store) if store.damaged_record().is_some() => Exit::Failure,
            error => match error.kind() {
                tenure::ErrorKind::Invalid => Exit::Usage,
                tenure::ErrorKind::Store => Exit::StoreUnavailable,
                _ => Exit::Internal,
            },
        };
        Self::new(exit, tenure::with_causes(&error))
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Internal, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use tenure::store::{StoreError, StoreErrorKind};

    use super::*;

    #[test]
    fn errors_about_messages_have_the_documented_codes() {
        let exit = |kind| CommandError::from(tenure::Error::from(StoreError::refused(kind, "told"))).exit;
        assert_eq!(exit(StoreErrorKind::TooLarge), Exit::Usage);
        assert_eq!(exit(StoreErrorKind::Unsupported), Exit::StoreUnavailable);
        assert_eq!(exit(StoreErrorKind::Full), Exit::StoreUnavailable);
        let json = CommandError::from(tenure::Error::Json { message: "told".to_owned() });
        assert_eq!((json.exit, json.message.as_str()), (Exit::Usage, "the payload is not JSON: told"));
    }
}
