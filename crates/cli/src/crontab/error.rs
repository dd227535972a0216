//! What is wrong with a crontab.

use std::fmt;

use serde::Serialize;

use crate::exit::{CommandError, Exit};
use crate::message::{on_one_line, printable};

/// One error of a crontab, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrontabError {
    /// In which line.
    pub line: Option<usize>,
    /// With which job.
    pub job: Option<String>,
    /// What.
    pub message: String,
}

/// All that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrontabErrors {
    /// Its name.
    pub file: String,
    /// In the order of their lines.
    pub errors: Vec<CrontabError>,
}

impl CrontabErrors {
    /// # Errors
    /// When there are any.
    pub fn check(self) -> Result<(), CommandError> {
        if self.errors.is_empty() { Ok(()) } else { Err(CommandError::new(Exit::Usage, self.to_string())) }
    }
}

/// One line for each, as compilers print them.
impl fmt::Display for CrontabErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, CrontabError { line, job, message }) in self.errors.iter().enumerate() {
            let begin = if index > 0 { "\n" } else { "" };
            write!(f, "{begin}{}", printable(&self.file))?;
            match line {
                Some(line) => write!(f, ":{line}: ")?,
                None => write!(f, ": ")?,
            }
            if let Some(job) = job {
                write!(f, "job {}: ", on_one_line(job))?;
            }
            write!(f, "{message}")?;
        }
        Ok(())
    }
}
