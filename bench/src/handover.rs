//! A resignation until the next one leads, beside a byte through a pipe and two transactions.

use std::error::Error;
use std::io::{PipeWriter, Read, Write, pipe};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tenure::{Clock, Election, EventKind, Instant, Tenure, Timing};

use crate::floor;
use crate::stats::Samples;

const HANDOVERS: usize = 100;
/// More than are handed over to in the time that one who resigned stays away.
const CANDIDATES: usize = 16;
/// Before each hand-over: processors and caches are as cold as in real life, and those who campaigned at the last one
/// stand by again.
const IDLE: Duration = Duration::from_millis(60);
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut floor = Floor::raise(&directory.path().join("floor.db"))?;
    let mut ours = Ours::raise(&directory.path().join("tenure.db"))?;
    let (mut floor_us, mut ours_us) = (Samples::default(), Samples::default());
    // The two take turns, so that whatever else the machine does hits both alike.
    for _ in 0..HANDOVERS {
        std::thread::sleep(IDLE);
        floor_us.push_micros(floor.hand_over()?);
        std::thread::sleep(IDLE);
        ours_us.push_micros(ours.hand_over()?);
    }
    floor.end()?;
    ours.end();
    println!("## Hand-over on SQLite, µs ({HANDOVERS} each; grants are durable in both)");
    println!("push and acquire (floor): p50 {:.0}, p99 {:.0}", floor_us.median(), floor_us.quantile(0.99));
    println!("resign to elected:        p50 {:.0}, p99 {:.0}", ours_us.median(), ours_us.quantile(0.99));
    println!("{:.2} times the floor", ours_us.median() / floor_us.median());
    Ok(())
}

/// Two connections, and a thread that waits for a byte.
struct Floor {
    holder: Connection,
    push: PipeWriter,
    taken: Receiver<Instant>,
    waiter: JoinHandle<rusqlite::Result<()>>,
}

impl Floor {
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

    fn hand_over(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        floor::release(&mut self.holder)?;
        self.push.write_all(&[0])?;
        Ok(self.taken.recv_timeout(PATIENCE)?.saturating_since(began))
    }

    fn end(self) -> Result<(), Box<dyn Error>> {
        drop(self.push);
        self.waiter.join().map_err(|_| "the waiter of the floor panicked")??;
        Ok(())
    }
}

/// Candidates with a store of their own each, as if they were processes of their own.
struct Ours {
    candidates: Vec<Election>,
    elected: Receiver<(usize, Instant)>,
    leader: usize,
}

impl Ours {
    fn raise(path: &Path) -> Result<Self, Box<dyn Error>> {
        let url = format!("sqlite:{}", path.display());
        let timing = Timing::from_ttl(Duration::from_secs(15))?;
        let (sender, elected) = channel();
        let mut candidates = Vec::new();
        for index in 0..CANDIDATES {
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
        let (leader, _) = elected.recv_timeout(PATIENCE)?;
        Ok(Self { candidates, elected, leader })
    }

    fn hand_over(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        self.candidates[self.leader].request_resign();
        let (next, at) = self.elected.recv_timeout(PATIENCE)?;
        self.leader = next;
        Ok(at.saturating_since(began))
    }

    fn end(self) {
        self.candidates.iter().for_each(Election::request_stop);
        self.candidates.iter().for_each(Election::stop_blocking);
    }
}
