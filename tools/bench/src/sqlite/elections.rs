//! Many elections in one process, all renewed each second, beside one bare transaction per second.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use super::floor;
use crate::elections::{Elections, SETTLING};
use crate::usage::cpu_seconds;

const SECONDS: u32 = 5;

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
    let elections = Elections::win(&format!("sqlite:{}", path.display()), count)?;
    std::thread::sleep(SETTLING);
    let before = cpu_seconds()?;
    let began = Instant::now();
    std::thread::sleep(Duration::from_secs(SECONDS.into()));
    let cpu = (cpu_seconds()? - before) / began.elapsed().as_secs_f64();
    let bytes = elections.bytes()? / f64::from(count);
    elections.leave()?;
    Ok((cpu, bytes))
}
