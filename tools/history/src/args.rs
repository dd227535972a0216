//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use tenure_core::duration::parse as duration;

/// Judges what `tenure elect` and `tenure run --json` have printed.
#[derive(Debug, Parser)]
#[command(
    name = "tenure-history",
    version,
    about = "Reads event lines of many processes of one machine and says whether two of them ever led at once.",
    after_help = LINES
)]
pub(crate) struct CheckerArgs {
    /// Files of event lines; `-` or none for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A takeover that takes longer is a violation, such as 4s or 500ms.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) failover_max: Option<Duration>,
    /// Print the verdict as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the verdict with a timeline as a page.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the timeline alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

const LINES: &str = "\
Lines are put in order by boot_ns, so all must come from one machine and one boot. Besides those of tenure, a line may
tell that a process was killed, or that a resource took a write:
  {\"event\":\"killed\",\"candidate\":ID,\"pid\":P,\"boot_ns\":N}
  {\"event\":\"accepted\",\"resource\":NAME,\"term\":T,\"boot_ns\":N}

Exit codes:
  0  nothing is wrong
  1  there are violations
  2  the command line or a file cannot be used, a line cannot be read, or there is nothing to judge

Examples:
  cat *.jsonl | tenure-history
  tenure-history a.jsonl b.jsonl --failover-max 4s --html timeline.html";
