//! One leader after the other is killed soon after its election, as by a job that no leader survives.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::elect_processes::ElectProcesses;
use crate::figures::Bench;
use crate::processes::millis;
use crate::stats::Samples;

/// So many stand in the election at any time.
const FLEET: usize = 5;
/// Nobody could wait that out once for each kill.
const TTL: &str = "30s";
/// How long each leader leads.
const LEADS_FOR: Duration = Duration::from_millis(300);

/// Kills `kills` leaders of `tenure run` in a row. From each kill to the next leader, in milliseconds.
pub(crate) fn kill_in_a_row(client: &Path, store: &str, kills: usize) -> Result<Samples, Box<dyn Error>> {
    let mut stage = ElectProcesses::empty(client);
    for _ in 0..FLEET {
        stage.enter_running(store, "bench", TTL)?;
    }
    let mut took = Samples::default();
    let (mut leader, _) = stage.wait_for("elected")?;
    for _ in 0..kills {
        // Waits because each leader is to lead for a moment.
        std::thread::sleep(LEADS_FOR);
        let killed_at = stage.signal(leader, Signal::KILL)?;
        let (next, at) = stage.wait_for("elected")?;
        took.push(millis(killed_at, at));
        leader = next;
        stage.enter_running(store, "bench", TTL)?;
    }
    Ok(took)
}

/// The same as a figure.
pub(crate) fn measure(what: &str, store: &str, bench: &mut Bench<'_>) -> Result<(), Box<dyn Error>> {
    let Bench { scale, client, table } = bench;
    let took = kill_in_a_row(client, store, scale.kills)?;
    table.demand(
        format!("{}{what}: from the kill to the next leader", title(scale.kills)),
        took.in_millis(),
        format!("a ttl of {TTL}, which is not waited for"),
        "each within 1 s",
        took.max() <= 1_000.0,
    );
    Ok(())
}

/// What is measured, in words.
pub(crate) fn title(kills: usize) -> String {
    format!("{kills} leaders with a command killed in a row, each {LEADS_FOR:?} after its election")
}
