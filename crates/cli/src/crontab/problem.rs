//! What is wrong with a crontab.

use std::fmt;

use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::message::{on_one_line, printable};

/// One thing that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// In which line.
    pub line: Option<usize>,
    /// With which job.
    pub job: Option<String>,
    /// What.
    pub message: String,
}

/// All that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// Its name.
    pub file: String,
    /// In the order of their lines.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// # Errors
    /// When there are any.
    pub fn check(self) -> Result<(), Failure> {
        if self.problems.is_empty() { Ok(()) } else { Err(Failure::new(Exit::Usage, self.to_string())) }
    }
}

/// One line for each, as compilers print them.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Problem { line, job, message }) in self.problems.iter().enumerate() {
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
