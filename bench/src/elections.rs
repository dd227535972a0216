//! Many elections in one process, all renewed each second, beside one bare transaction per second.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use tenure::{Election, Tenure, Timing};

use crate::floor;

const SECONDS: u32 = 5;
/// The longest that an election may take to be won by its only candidate.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    println!("## Elections in one process, each renewed every second, on SQLite");
    println!(
        "{:>9}  {:>12}  {:>12}  {:>7}  {:>16}  {:>15}",
        "elections", "CPU, %", "floor, %", "ratio", "µs per renewal", "bytes/election"
    );
    for count in [1, 100, 1_000, 10_000] {
        let directory = tempfile::tempdir()?;
        let floor = floor_cpu(&directory.path().join("floor.db"), count)?;
        let (cpu, bytes) = ours(&directory.path().join("tenure.db"), count)?;
        let per_renewal = cpu * 1e6 / f64::from(count);
        println!(
            "{count:>9}  {:>12.2}  {:>12.2}  {:>7.2}  {per_renewal:>16.2}  {bytes:>15.0}",
            cpu * 100.0,
            floor * 100.0,
            cpu / floor
        );
    }
    Ok(())
}

/// CPU seconds per second.
fn floor_cpu(path: &Path, count: u32) -> Result<f64, Box<dyn Error>> {
    floor::create(path, count)?;
    let mut connection = floor::open(path)?;
    floor::renew_all(&mut connection, count, 0)?;
    let before = cpu_seconds()?;
    let began = Instant::now();
    for round in 1..=SECONDS {
        // As idle in between as a process that renews each second: cold caches are part of the price.
        std::thread::sleep(Duration::from_secs(1));
        floor::renew_all(&mut connection, count, i64::from(round))?;
    }
    Ok((cpu_seconds()? - before) / began.elapsed().as_secs_f64())
}

/// CPU seconds per second, and resident bytes per election beyond its name.
fn ours(path: &Path, count: u32) -> Result<(f64, f64), Box<dyn Error>> {
    let timing = Timing::builder(Duration::from_secs(6)).renew_every(Duration::from_secs(1)).build()?;
    let tenure = Tenure::open(&format!("sqlite:{}", path.display()))?;
    let names: Vec<String> = (0..count).map(|index| format!("election-{index}")).collect();
    let before_bytes = resident_bytes()?;
    let start = |name: &String| tenure.election(name)?.timing(timing).start();
    let elections: Vec<Election> = names.iter().map(start).collect::<Result<_, _>>()?;
    for election in &elections {
        election.wait_elected_for(PATIENCE)?.ok_or("not elected in time")?;
    }
    // The first renewals still come in the groups in which the elections were won.
    std::thread::sleep(Duration::from_secs(3));
    let before = cpu_seconds()?;
    let began = Instant::now();
    std::thread::sleep(Duration::from_secs(SECONDS.into()));
    let cpu = (cpu_seconds()? - before) / began.elapsed().as_secs_f64();
    let bytes = (resident_bytes()? - before_bytes) / f64::from(count);
    if elections.iter().any(|election| !election.is_leader()) {
        return Err("an election was lost while it was measured".into());
    }
    for election in &elections {
        election.request_stop();
    }
    for election in &elections {
        election.stop_blocking();
    }
    Ok((cpu, bytes))
}

/// User and system time of this process.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?).as_secs_f64())
}

fn resident_bytes() -> Result<f64, Box<dyn Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u32 = statm.split_whitespace().nth(1).ok_or("statm has no second field")?.parse()?;
    let page_bytes = u32::try_from(rustix::param::page_size())?;
    Ok(f64::from(pages) * f64::from(page_bytes))
}
