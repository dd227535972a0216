//! Whole processes on SQLite: start to leadership, takeover after kill -9, hand-over after SIGTERM, memory.

use std::error::Error;
use std::path::Path;

use crate::crashes;
use crate::processes::Measured;
use crate::scale::Scale;

const RUNS: usize = 20;

/// One leader after the other.
pub(crate) fn kill_in_a_row(client: &Path) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let store = format!("sqlite:{}", directory.path().join("bench.db").display());
    let kills = Scale::FULL.kills;
    let took = crashes::kill_in_a_row(client, &store, kills)?;
    println!("## {} on SQLite", crashes::title(kills));
    println!("from the kill to the next leader: {}", took.in_millis());
    Ok(())
}

pub(crate) fn run(client: &Path) -> Result<(), Box<dyn Error>> {
    let mut measured = Measured::default();
    for _ in 0..RUNS {
        let directory = tempfile::tempdir()?;
        let store = format!("sqlite:{}", directory.path().join("bench.db").display());
        // The kernel tells the others at once.
        measured.one_run(client, &store, Ok)?;
    }
    let Measured { first_start, start, takeover, handover, resident } = measured;
    println!("## Processes on SQLite, {RUNS} runs each: p50, worst");
    println!("start to leadership, new file:  {:.1} ms, {:.1} ms", first_start.median(), first_start.max());
    println!("start to leadership:            {:.1} ms, {:.1} ms", start.median(), start.max());
    println!("takeover after kill -9:         {:.1} ms, {:.1} ms", takeover.median(), takeover.max());
    println!("hand-over after SIGTERM:        {:.1} ms, {:.1} ms", handover.median(), handover.max());
    println!("resident memory:                {:.1} MB, {:.1} MB", resident.median(), resident.max());
    Ok(())
}
