//! `cargo xtask bench`: speed as ratios, each figure beside its floor.

use std::path::Path;

use crate::process::run_cargo;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct BenchOptions {
    /// Which parts: is-leader, handover, elections, processes, load; all of these when none is named. Or `redis` or
    /// `postgres`, which start servers of their own, and after it: handover, processes, elections, group, crowd, outages,
    /// and for `postgres` also gone; `--quick`; for `postgres` also `--store lease` or `--store advisory`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PARTS")]
    parts: Vec<String>,
}

/// Builds the command and the benchmark as a release would be, and runs the benchmark.
pub(crate) fn run(root: &Path, options: &BenchOptions) -> Result<(), String> {
    run_cargo(root, "build --locked --profile dist --bin tenure --bin tenure-bench")?;
    run_cargo(root, &format!("run --locked --quiet --profile dist --bin tenure-bench -- {}", options.parts.join(" ")))
}
