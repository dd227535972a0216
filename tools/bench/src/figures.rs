//! The figures of one store: which of them are measured, and how they become a table.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::processes::tenure_command;
use crate::scale::Scale;
use crate::table::FigureTable;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct FigureOptions<F: ValueEnum + Send + Sync + 'static> {
    /// Which figures; all when none is named.
    figures: Vec<F>,
    /// Small numbers, which show that everything works, and nothing of how fast it is.
    #[arg(long)]
    quick: bool,
    /// The `tenure` command to measure. Default: the one beside this program.
    #[arg(long, value_name = "PATH")]
    client: Option<PathBuf>,
}

/// What a figure is measured with, and where it goes.
pub(crate) struct Bench<'a> {
    pub(crate) scale: &'a Scale,
    /// The command.
    pub(crate) client: &'a Path,
    pub(crate) table: &'a mut FigureTable,
}

impl<F: ValueEnum + Send + Sync + 'static> FigureOptions<F> {
    /// Measures one figure after the other, and prints a table.
    pub(crate) fn measure(
        self,
        title: &str,
        mut measure: impl FnMut(F, &mut Bench<'_>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        allow_many_connections()?;
        let client = tenure_command(self.client)?;
        let scale = if self.quick { Scale::QUICK } else { Scale::FULL };
        let mut table = FigureTable::default();
        let figures = if self.figures.is_empty() { F::value_variants().to_vec() } else { self.figures };
        for figure in figures {
            measure(figure, &mut Bench { scale: &scale, client: &client, table: &mut table })?;
        }
        let caution = if self.quick { " (small numbers: nothing to rely on)" } else { "" };
        println!("## {title}{caution}\n\n{table}");
        Ok(())
    }
}

/// Lets time pass, and says so now and then.
pub(crate) fn pass(what: &str, time: Duration) {
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
