//! A release until the next one in line has the lock, by those who want it in one process.

use std::error::Error;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tenure::blocking::{Client, LockGuard};
use tenure::{Clock, Instant, Timing};

use crate::handover::{Contestant, PATIENCE};

/// Those who want one lock, with a store of their own each, as if they were processes of their own.
pub(crate) struct Holders {
    /// None only while it changes hands.
    guard: Option<LockGuard>,
    had: Receiver<(LockGuard, Instant)>,
    waiters: Vec<JoinHandle<Result<(), tenure::Error>>>,
}

/// One that holds it, one that is next, and one that is woken in case that one does not answer.
const WAITERS: usize = 3;

impl Holders {
    /// One of them has the lock when this returns.
    pub(crate) fn raise(url: &str, ttl: Duration) -> Result<Self, Box<dyn Error>> {
        let (sender, had) = channel();
        let mut waiters = Vec::new();
        for _ in 0..WAITERS {
            let lock = Client::open(url)?.lock("bench-lock")?.timing(Timing::from_ttl(ttl)?);
            let sender = sender.clone();
            waiters.push(std::thread::spawn(move || {
                // Whoever had it goes to the end of the line.
                while sender.send((lock.acquire()?, Clock::boottime().now())).is_ok() {}
                Ok(())
            }));
        }
        let (guard, _) = had.recv_timeout(PATIENCE)?;
        Ok(Self { guard: Some(guard), had, waiters })
    }

    /// Lets all of them leave: each has it once more, and drops it.
    pub(crate) fn end(self) -> Result<(), Box<dyn Error>> {
        drop((self.had, self.guard));
        for waiter in self.waiters {
            waiter.join().map_err(|_| "one who waited for the lock panicked")??;
        }
        Ok(())
    }
}

impl Contestant for Holders {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        self.guard = None;
        let (guard, at) = self.had.recv_timeout(PATIENCE)?;
        self.guard = Some(guard);
        Ok(at.saturating_since(began))
    }
}
