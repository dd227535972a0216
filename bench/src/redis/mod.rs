//! All figures for Redis, on servers that are started for them.

mod crowd;
mod elections;
mod floor;
mod group;
mod handover;
mod load;
mod outages;
mod processes;
mod renewals;
pub(crate) mod roles;
mod scale;
mod wire;

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::scale::Scale;
use crate::processes::tenure_command;
use crate::table::Table;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which figures; all when none is named.
    figures: Vec<Figure>,
    /// Small numbers, which show that everything works, and nothing of how fast it is.
    #[arg(long)]
    quick: bool,
    /// The `tenure` command to measure. Default: the one beside this program.
    #[arg(long, value_name = "PATH")]
    tenure: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// Raw round trips, and hand-overs in one process beside a bare push and acquisition.
    Handover,
    /// Takeover after kill -9, hand-over and start of whole processes.
    Processes,
    /// Many elections in one process beside a bare loop that renews as many.
    Elections,
    /// Store calls of one leader and nine followers.
    Group,
    /// A thousand followers of one leader, and a resignation among them.
    Crowd,
    /// A leader that is cut off from the store.
    Outages,
}

/// Measures, and prints a table.
pub(crate) fn run(options: Options) -> Result<(), Box<dyn Error>> {
    allow_many_connections()?;
    let tenure = tenure_command(options.tenure)?;
    let scale = if options.quick { Scale::QUICK } else { Scale::FULL };
    let mut table = Table::default();
    let figures = if options.figures.is_empty() { Figure::value_variants().to_vec() } else { options.figures };
    for figure in figures {
        match figure {
            Figure::Handover => handover::run(&scale, &mut table)?,
            Figure::Processes => processes::run(&scale, &tenure, &mut table)?,
            Figure::Elections => elections::run(&scale, &mut table)?,
            Figure::Group => group::run(&scale, &mut table)?,
            Figure::Crowd => crowd::run(&scale, &mut table)?,
            Figure::Outages => outages::run(&scale, &tenure, &mut table)?,
        }
    }
    let caution = if options.quick { " (small numbers: nothing to rely on)" } else { "" };
    println!("## Redis{caution}\n\n{table}");
    Ok(())
}

/// Lets time pass, and says so now and then.
fn pass(what: &str, time: Duration) {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        eprintln!("{what}: {:.0} s to go", left.as_secs_f64());
        std::thread::sleep(left.min(PROGRESS_EVERY));
        if left <= PROGRESS_EVERY {
            return;
        }
    }
}

/// A thousand candidates in one process need more than what is allowed by default.
fn allow_many_connections() -> Result<(), Box<dyn Error>> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

const PROGRESS_EVERY: Duration = Duration::from_secs(10);
