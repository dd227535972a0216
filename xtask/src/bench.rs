//! `cargo xtask bench`: speed as ratios, each figure beside its floor.

use std::path::Path;

use crate::process::run_cargo;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which parts: is-leader, handover, elections, processes, load; all when none is named
    parts: Vec<String>,
}

/// Builds the command and the benchmark as a release would be, and runs the benchmark.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    run_cargo(root, "build --locked --release --bin tenure --bin tenure-bench")?;
    run_cargo(root, &format!("run --locked --quiet --release --bin tenure-bench -- {}", options.parts.join(" ")))
}
