//! What `tenure cron` is to run: an election, its timing, and jobs with their commands.
//!
//! It comes from a file (docs/jobs.md describes it) or from the command line. What is wrong with a file is told all at once,
//! each with its line. No message shows a command, its arguments or its environment: they may hold secrets.

mod document;
mod entry;
mod error;
#[cfg(test)]
mod fuzz;
mod settings;
mod value;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use tenure::cron::Job;

pub use self::document::parse;
pub use self::error::{CrontabError, CrontabErrors};
pub use self::settings::JobSettings;
use crate::args::TimingArgs;

/// Jobs, and the election they belong to.
#[derive(Debug, Default)]
pub struct Crontab {
    /// The election.
    pub election: String,
    /// Its durations.
    pub timing: TimingArgs,
    /// The jobs, in order of their names.
    pub entries: Vec<CrontabEntry>,
}

/// A job and its command.
#[derive(Debug)]
pub struct CrontabEntry {
    /// The job.
    pub job: Job,
    /// The job's command.
    pub action: JobCommand,
}

/// What a job runs.
#[derive(Default)]
pub struct JobCommand {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables to set.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory, if it is not that of `tenure`.
    pub directory: Option<OsString>,
}

/// Arguments and variables may be secrets.
impl fmt::Debug for JobCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobCommand").field("program", &self.command.first()).finish_non_exhaustive()
    }
}

impl Crontab {
    /// Reads a file. Returns the valid jobs together with the errors of the others.
    #[must_use]
    pub fn read(path: &Path) -> (Self, CrontabErrors) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let (crontab, errors) = match text_of(path) {
            Ok(text) => parse(&text, stem.unwrap_or(ELECTION)),
            Err(message) => (Self::default(), vec![CrontabError { line: None, job: None, message }]),
        };
        (crontab, CrontabErrors { file: path.display().to_string(), errors })
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut read = || File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    match read() {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(_) if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) => {
            Err(format!("is longer than {MAX_BYTES} bytes, the limit for a crontab"))
        }
        Ok(_) => String::from_utf8(bytes).map_err(|_| "is not UTF-8; save it as UTF-8".to_owned()),
    }
}

/// The election of a file whose name does not do as one.
const ELECTION: &str = "cron";
/// Far more than a thousand jobs need.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
