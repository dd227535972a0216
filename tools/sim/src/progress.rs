//! A line that says how far it is: rewritten on a terminal, repeated now and then elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Where progress goes.
pub struct ProgressLine {
    is_terminal: bool,
    told_at: Instant,
}

/// How often a log gets a line.
const LOGGED_EVERY: Duration = Duration::from_secs(5);

impl ProgressLine {
    /// On standard error.
    #[must_use]
    pub fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), told_at: Instant::now() }
    }

    /// Says how far it is.
    pub fn tell(&mut self, line: &str) {
        // Nobody need be listening.
        if self.is_terminal {
            let _ = write!(stderr(), "\r\x1b[2K{line}");
            let _ = stderr().flush();
        } else if self.told_at.elapsed() >= LOGGED_EVERY {
            self.told_at = Instant::now();
            let _ = writeln!(stderr(), "{line}");
        }
    }

    /// Makes room for what comes next.
    pub fn clear(&mut self) {
        if self.is_terminal {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::new()
    }
}
