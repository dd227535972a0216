//! What a server has done, as far as every server tells.

use std::error::Error;
use std::time::Instant;

/// All that was done up to an instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerWork {
    pub(crate) at: Instant,
    /// CPU seconds.
    pub(crate) cpu: f64,
    /// What clients asked.
    pub(crate) calls: f64,
    /// What was pushed to clients, where the server counts it.
    pub(crate) pushes: Option<f64>,
}

/// What was done between two instants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkDone {
    pub(crate) seconds: f64,
    /// CPU seconds.
    pub(crate) cpu: f64,
    pub(crate) calls: f64,
    pub(crate) pushes: Option<f64>,
}

/// Asks a server.
pub(crate) type AskServer<'a> = &'a mut dyn FnMut() -> Result<ServerWork, Box<dyn Error>>;

impl ServerWork {
    pub(crate) fn since(&self, earlier: &Self) -> WorkDone {
        WorkDone {
            seconds: self.at.duration_since(earlier.at).as_secs_f64(),
            cpu: self.cpu - earlier.cpu,
            calls: self.calls - earlier.calls,
            pushes: self.pushes.zip(earlier.pushes).map(|(later, earlier)| later - earlier),
        }
    }
}

impl WorkDone {
    pub(crate) fn calls_per_second(&self) -> f64 {
        self.calls / self.seconds
    }

    /// Percent of a core.
    pub(crate) fn cpu_percent(&self) -> f64 {
        100.0 * self.cpu / self.seconds
    }
}
