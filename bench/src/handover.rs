//! A resignation until the next one leads, beside a byte through a pipe and two transactions.

use std::error::Error;
use std::io::{Read, Write, pipe};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use tenure::{Clock, Election, EventKind, Tenure, Timing};

use crate::floor;
use crate::stats::Samples;

const HANDOVERS: usize = 60;
/// More than one handed over to in the time that one who resigned stays away.
const CANDIDATES: usize = 16;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let floor = floor_of(&directory.path().join("floor.db"))?;
    let ours = ours(&directory.path().join("tenure.db"))?;
    println!("## Hand-over on SQLite, µs ({HANDOVERS} each; grants are durable in both)");
    println!("push and acquire (floor): p50 {:.0}, p99 {:.0}", floor.median(), floor.quantile(0.99));
    println!("resign to elected:        p50 {:.0}, p99 {:.0}", ours.median(), ours.quantile(0.99));
    println!("{:.2} times the floor", ours.median() / floor.median());
    Ok(())
}

fn floor_of(path: &Path) -> Result<Samples, Box<dyn Error>> {
    floor::create(path, 1)?;
    let (mut from, mut to) = pipe()?;
    let (mut old, mut new) = (floor::open(path)?, floor::open(path)?);
    let clock = Clock::boottime();
    let (sender, taken) = mpsc::channel();
    let waiter = std::thread::spawn(move || -> rusqlite::Result<()> {
        while from.read_exact(&mut [0]).is_ok() {
            floor::acquire(&mut new)?;
            // Nobody listens any more once the last sample is taken.
            let _ = sender.send(Clock::boottime().now());
        }
        Ok(())
    });
    let mut samples = Samples::default();
    for _ in 0..HANDOVERS {
        let began = clock.now();
        floor::release(&mut old)?;
        to.write_all(&[0])?;
        samples.push_micros(taken.recv()?.saturating_since(began));
    }
    drop(to);
    waiter.join().map_err(|_| "the floor's waiter panicked")??;
    Ok(samples)
}

fn ours(path: &Path) -> Result<Samples, Box<dyn Error>> {
    let url = format!("sqlite:{}", path.display());
    let timing = Timing::from_ttl(Duration::from_secs(15))?;
    let (sender, elected) = mpsc::channel();
    let mut candidates: Vec<Election> = Vec::new();
    for index in 0..CANDIDATES {
        // A store of its own for each, as if it were a process of its own.
        let election = Tenure::open(&url)?.election("bench")?.timing(timing).start()?;
        let mut events = election.events();
        let sender = sender.clone();
        std::thread::spawn(move || {
            while let Some(event) = events.next_blocking() {
                if matches!(event.kind, EventKind::Elected { .. }) && sender.send((index, event.at)).is_err() {
                    return;
                }
            }
        });
        candidates.push(election);
    }
    let clock = Clock::boottime();
    let (mut leader, _) = elected.recv()?;
    let mut samples = Samples::default();
    for _ in 0..HANDOVERS {
        wait_for_stand_bys(&candidates[leader])?;
        let began = clock.now();
        candidates[leader].request_resign();
        let (next, at) = elected.recv_timeout(Duration::from_secs(30))?;
        samples.push_micros(at.saturating_since(began));
        leader = next;
    }
    for candidate in &candidates {
        candidate.request_stop();
    }
    for candidate in &candidates {
        candidate.stop_blocking();
    }
    Ok(samples)
}

/// Somebody must stand by, or there is nobody to hand over to. A new leader has also to be left alone for a moment:
/// candidates that campaigned when it was elected are still in the store's queue.
fn wait_for_stand_bys(leader: &Election) -> Result<(), Box<dyn Error>> {
    std::thread::sleep(Duration::from_millis(100));
    let known = leader.current_leader_blocking()?;
    if known.is_none() { Err("the leader lost its lease".into()) } else { Ok(()) }
}
