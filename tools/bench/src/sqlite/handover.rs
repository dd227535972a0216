//! A resignation until the next one leads, beside a byte through a pipe and two transactions.

use std::error::Error;
use std::io::{PipeWriter, Read, Write, pipe};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tenure::{Clock, Instant};

use super::floor;
use crate::handover::{CANDIDATES, Candidates, Contestant, PATIENCE, TTL, take_turns};
use crate::locks::Holders;

const HANDOVERS: usize = 100;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut floor = SqliteFloor::raise(&directory.path().join("floor.db"))?;
    let url = format!("sqlite:{}", directory.path().join("tenure.db").display());
    let mut ours = Candidates::raise(&url, TTL, CANDIDATES)?;
    let mut locks = Holders::raise(&url, TTL)?;
    let [floor_us, ours_us, locks_us] = take_turns(HANDOVERS, [&mut floor, &mut ours, &mut locks])?;
    floor.end()?;
    ours.end();
    locks.end()?;
    println!("## Hand-over on SQLite, µs ({HANDOVERS} each; grants are durable in both)");
    println!("push and acquire (floor): p50 {:.0}, p99 {:.0}", floor_us.median(), floor_us.quantile(0.99));
    println!("resign to elected:        p50 {:.0}, p99 {:.0}", ours_us.median(), ours_us.quantile(0.99));
    println!("{:.2} times the floor", ours_us.median() / floor_us.median());
    println!("lock released to had:     p50 {:.0}, p99 {:.0}", locks_us.median(), locks_us.quantile(0.99));
    println!("{:.2} times the floor", locks_us.median() / floor_us.median());
    Ok(())
}

/// Two connections, and a thread that waits for a byte.
struct SqliteFloor {
    holder: Connection,
    push: PipeWriter,
    taken: Receiver<Instant>,
    waiter: JoinHandle<rusqlite::Result<()>>,
}

impl SqliteFloor {
    fn raise(path: &Path) -> Result<Self, Box<dyn Error>> {
        floor::create(path, 1)?;
        let (mut pushed, push) = pipe()?;
        let (holder, mut next) = (floor::open(path)?, floor::open(path)?);
        let (sender, taken) = channel();
        let waiter = std::thread::spawn(move || {
            while pushed.read_exact(&mut [0]).is_ok() {
                floor::acquire(&mut next)?;
                // Nobody listens any more once the last sample is taken.
                let _ = sender.send(Clock::boottime().now());
            }
            Ok(())
        });
        Ok(Self { holder, push, taken, waiter })
    }

    fn end(self) -> Result<(), Box<dyn Error>> {
        drop(self.push);
        self.waiter.join().map_err(|_| "the waiter of the floor panicked")??;
        Ok(())
    }
}

impl Contestant for SqliteFloor {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        floor::release(&mut self.holder)?;
        self.push.write_all(&[0])?;
        Ok(self.taken.recv_timeout(PATIENCE)?.saturating_since(began))
    }
}
