//! Exit codes, all in one place. `tenure help` prints the same list.

use std::process::ExitCode;

use tenure::store::{StoreError, StoreErrorKind};

use crate::supervise::{CommandExit, SpawnFailure};

/// How `tenure` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Success,
    /// What was asked for is not so: no such leader, a check that failed.
    Failure,
    /// The command line, a name, a duration, a message or a crontab cannot be used. Nothing was done.
    Usage,
    /// The store cannot be reached or used.
    StoreUnavailable,
    /// Something that should never happen.
    Internal,
    /// Somebody else leads, and waiting was not wanted or not enough.
    NotElected,
    /// The lock was lost while the command ran, which was stopped.
    LockLost,
    /// The command exists but cannot be executed.
    NotExecutable,
    /// There is no such command.
    NotFound,
    /// `tenure` was ended by this signal; it stopped the command and resigned before it went.
    Signalled(i32),
    /// The command ended by itself, like this.
    Command(CommandExit),
}

/// The list for the help text and the documentation.
pub const EXIT_CODES: &str = "\
Exit codes:
  0        success; for `run` and `lock`, the command's own code
  1        what was asked for is not so (no leader to ask, no such message or job, a check of `doctor` failed,
           `status --leads` names a candidate that does not lead), or the record of an election is damaged
  2        the command line, a name, a duration, a message or a crontab cannot be used; nothing was done
  69       the store cannot be reached or used: it does not answer, refuses the login, or there is no such database,
           schema or directory; for commands that only look or ask, also: there is no such file; `run`, `lock`, `cron`
           and `elect` try on, unless told not to (`--fail-fast` at the start, `--no-wait`), or unless a SQLite file
           cannot be opened at the start
  70       an internal error; please report it
  75       somebody else leads, and waiting was not wanted (`--no-wait`) or not enough
  76       the lock was lost while the command ran; the command was stopped
  126      the command cannot be executed
  127      the command was not found
  128+N    ended by signal N: `tenure` itself (after it stopped the command and resigned), or the command";

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::StoreUnavailable => 69,
            Self::Internal => 70,
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
            SpawnFailure::TrustEnded | SpawnFailure::Other => Self::Internal,
        }
    }
}

/// An end with something to say about it.
#[derive(Debug)]
pub struct CommandError {
    /// The exit code.
    pub exit: Exit,
    /// What was wrong, with which value, and what to do.
    pub message: String,
}

impl CommandError {
    /// An end with this code and this message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

impl From<tenure::Error> for CommandError {
    fn from(error: tenure::Error) -> Self {
        let exit = match &error {
            tenure::Error::Store(store) if is_bad_address(store) => Exit::Usage,
            tenure::Error::Store(store) if store.kind() == StoreErrorKind::TooLarge => Exit::Usage,
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

/// Whether the address itself cannot be used, so that nothing was even looked at. What a server or a file system has said
/// (that there is no such database, say) is another kind of error, or a refusal: the same address may do later.
fn is_bad_address(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Configuration && error.failure() == tenure::WriteOutcome::NotSent
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::new(Exit::Internal, error.to_string())
    }
}

#[cfg(test)]
mod tests {
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
