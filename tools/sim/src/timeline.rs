//! What happened, for people. Kept only when a run is looked at: most runs are not.

use std::fmt;

use crate::clock::SimTime;

/// The lines of one run, or nothing.
#[derive(Debug, Default)]
pub struct Timeline(Option<Vec<(SimTime, String)>>);

impl Timeline {
    pub(crate) fn kept() -> Self {
        Self(Some(Vec::new()))
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn add(&mut self, now: SimTime, line: String) {
        if let Some(lines) = &mut self.0 {
            lines.push((now, line));
        }
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.0.iter().flatten() {
            writeln!(f, "{:>12.6}  {line}", *at as f64 / 1e9)?;
        }
        Ok(())
    }
}
