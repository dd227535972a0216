//! Ending what hangs: a test that waits for ever would otherwise be waited for, and nobody would learn its name.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The longest that anything here works without a word is some minutes, on a slow machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Watches one command.
pub(crate) struct SilenceWatch {
    limit: Duration,
    heard_at: Instant,
    /// Whether what it runs is ended first, and named by it.
    runs_others: bool,
}

impl SilenceWatch {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, heard_at: Instant::now(), runs_others: true }
    }

    /// Watches a program of tests: what it runs are servers, which are silent by nature.
    pub(crate) fn over_program(limit: Duration) -> Self {
        Self { runs_others: false, ..Self::new(limit) }
    }

    /// The command has said something.
    pub(crate) fn heard(&mut self) {
        self.heard_at = Instant::now();
    }

    /// Ends what a silent command runs, or itself if it runs nothing, and says so. Cargo then names the test binary that was
    /// ended, and goes on with the others.
    pub(crate) fn enforce(&mut self, command: &mut Child) -> Option<String> {
        if self.heard_at.elapsed() < self.limit {
            return None;
        }
        self.heard();
        let children = if self.runs_others { children_of(command.id()) } else { Vec::new() };
        let what = if children.is_empty() {
            // It may just have ended; then there is nothing to do.
            let _ = command.kill();
            "it was"
        } else {
            // The shell's own, because the program of that name is not on every machine.
            let _ = Command::new("sh").args(["-c", "kill -KILL \"$@\"", "kill"]).args(&children).status();
            "what it runs was"
        };
        Some(format!("error: nothing was printed for {} s, so {what} ended", self.limit.as_secs()))
    }
}

/// The kernel lists children by the thread that started them. A process that is gone has none.
fn children_of(id: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}
