//! Whole processes: start to leadership, takeover after kill -9, hand-over after SIGTERM, memory.

use std::error::Error;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tenure::{Clock, Instant};

use crate::elect_processes::ElectProcesses;
use crate::stats::Samples;

/// What some runs have shown; times in milliseconds, memory in megabytes.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) first_start: Samples,
    pub(crate) start: Samples,
    pub(crate) takeover: Samples,
    pub(crate) handover: Samples,
    pub(crate) resident: Samples,
}

impl Measured {
    /// One run on an election that nobody has held yet. A takeover counts from when it is due, which follows from when the
    /// leader was killed.
    pub(crate) fn one_run(
        &mut self,
        client: &Path,
        store: &str,
        due: impl FnOnce(Instant) -> Result<Instant, Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        for samples in [&mut self.first_start, &mut self.start] {
            let launched = Clock::boottime().now();
            let mut processes = ElectProcesses::raise(client, store, 1)?;
            let (leader, at) = processes.wait_for("elected")?;
            samples.push(millis(launched, at));
            self.resident.push(processes.resident_megabytes(leader)?);
            processes.signal(leader, Signal::TERM)?;
            processes.wait_for("stopped")?;
        }
        let mut processes = ElectProcesses::raise(client, store, CANDIDATES)?;
        let (first, _) = processes.wait_for("elected")?;
        processes.let_stand_by()?;
        let killed = processes.signal(first, Signal::KILL)?;
        let due = due(killed)?;
        let (second, at) = processes.wait_for("elected")?;
        self.takeover.push(millis(due, at));
        let asked = processes.signal(second, Signal::TERM)?;
        let (_, at) = processes.wait_for("elected")?;
        self.handover.push(millis(asked, at));
        Ok(())
    }
}

/// The `tenure` to measure: the one that was named, or else the one beside this program.
pub(crate) fn tenure_command(named: Option<PathBuf>) -> Result<PathBuf, Box<dyn Error>> {
    let client = match named {
        Some(path) => path,
        None => std::env::current_exe()?.with_file_name("tenure"),
    };
    if !client.exists() {
        return Err(format!(
            "{} is not built; build it with cargo build --profile dist --bin tenure",
            client.display()
        )
        .into());
    }
    Ok(client)
}

/// From one instant to the next, in milliseconds.
pub(crate) fn millis(from: Instant, to: Instant) -> f64 {
    to.saturating_since(from).as_secs_f64() * 1e3
}

const CANDIDATES: usize = 3;
