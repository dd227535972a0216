//! Shows the running part: one line that is rewritten on a terminal, plain lines everywhere else.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where the progress goes. Write errors are ignored: a closed pipe must not end the tests.
pub(crate) struct Screen {
    out: Box<dyn Write>,
    is_terminal: bool,
    is_verbose: bool,
    title: String,
    shown_at: Instant,
}

impl Screen {
    pub(crate) fn stdout(is_verbose: bool) -> Self {
        Self::to(Box::new(io::stdout()), io::stdout().is_terminal(), is_verbose)
    }

    /// One that nobody sees yet, and what is written on it.
    pub(crate) fn captured() -> (Self, CapturedOutput) {
        let output = CapturedOutput::default();
        (Self::to(Box::new(output.clone()), false, false), output)
    }

    pub(crate) fn to(out: Box<dyn Write>, is_terminal: bool, is_verbose: bool) -> Self {
        Self { out, is_terminal, is_verbose, title: String::new(), shown_at: Instant::now() }
    }

    /// Starts a part's line.
    pub(crate) fn begin(&mut self, title: &str) {
        title.clone_into(&mut self.title);
        self.shown_at = Instant::now();
        if self.rewrites() {
            self.rewrite(&format!("{title} …"));
        } else {
            self.line(&format!("{title} …"));
        }
    }

    /// What the part is doing now: at once on a terminal, else now and then as a sign of life.
    pub(crate) fn progress(&mut self, what: &str) {
        let is_due = self.shown_at.elapsed() >= if self.is_terminal { REWRITE_EVERY } else { SIGN_OF_LIFE_EVERY };
        if self.is_verbose || !is_due {
            return;
        }
        self.shown_at = Instant::now();
        let line = format!("{} … {what}", self.title);
        if self.rewrites() {
            self.rewrite(&line);
        } else {
            self.line(&line);
        }
    }

    /// Ends the part's line with its result.
    pub(crate) fn end(&mut self, result: &str) {
        self.note(&format!("{}: {result}", self.title));
    }

    /// A line that is shown whatever happens, above the part's own.
    pub(crate) fn note(&mut self, line: &str) {
        if self.rewrites() {
            self.rewrite("");
        }
        self.line(line);
    }

    /// A line of a part's own output, shown only when asked for.
    pub(crate) fn detail(&mut self, line: &str) {
        if self.is_verbose {
            self.line(line);
        }
    }

    /// Everything a failed part printed, unless it was shown already, and then why it failed.
    pub(crate) fn failure(&mut self, log: &str, problem: &str) {
        if !self.is_verbose {
            log.lines().for_each(|line| self.line(line));
        }
        self.line(&format!("error: {problem}"));
    }

    pub(crate) fn line(&mut self, line: &str) {
        let _ = writeln!(self.out, "{line}");
    }

    fn rewrites(&self) -> bool {
        self.is_terminal && !self.is_verbose
    }

    fn rewrite(&mut self, line: &str) {
        // A line that wraps could not be erased again, so it is kept shorter than any usual terminal is wide.
        let line: String = line.chars().take(WIDTH).collect();
        let _ = write!(self.out, "\r\x1b[2K{line}");
        let _ = self.out.flush();
    }
}

/// Keeps what is written, for later.
#[derive(Clone, Default)]
pub(crate) struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl CapturedOutput {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const WIDTH: usize = 79;
const REWRITE_EVERY: Duration = Duration::from_millis(50);
const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, is_verbose: bool) -> String {
        let output = CapturedOutput::default();
        let mut screen = Screen::to(Box::new(output.clone()), is_terminal, is_verbose);
        screen.begin("[1/1] unit");
        screen.detail("cargo says");
        screen.end("FAILED");
        screen.failure("cargo says\n", "unit: broke");
        output.text()
    }

    #[test]
    fn a_failure_shows_the_whole_output_once() {
        assert_eq!(shown(false, false), "[1/1] unit …\n[1/1] unit: FAILED\ncargo says\nerror: unit: broke\n");
        assert_eq!(shown(false, true), "[1/1] unit …\ncargo says\n[1/1] unit: FAILED\nerror: unit: broke\n");
    }

    #[test]
    fn a_terminal_line_is_replaced_by_its_result() {
        assert!(shown(true, false).starts_with("\r\x1b[2K[1/1] unit …\r\x1b[2K[1/1] unit: FAILED\n"));
    }
}
