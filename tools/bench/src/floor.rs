//! The floor of a hand-over: a release that pushes, and an acquisition by whoever was pushed; nothing else.

use std::error::Error;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Signal;
use tenure::{Clock, Instant};
use tenure_testkit::running::RunningProcess;

use crate::handover::{Contestant, IDLE, PATIENCE};
use crate::processes::millis;
use crate::roles::{self, Bare};

/// What ended in a thread of its own.
pub(crate) type ThreadEnd = Result<(), Box<dyn Error + Send + Sync>>;

/// Whoever has what is handed over.
pub(crate) trait FloorHolder {
    /// Gives it to the waiter.
    fn release(&mut self) -> Result<(), Box<dyn Error>>;

    /// Has it again after the waiter has taken it.
    fn retake(&mut self) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

/// Has it, whoever had it before.
pub(crate) type Enter = fn(url: &str) -> Result<Box<dyn FloorHolder>, Box<dyn Error>>;

/// Takes it whenever it is told to, until nobody wants to know. It is told when to say that it is ready, and says when it
/// has taken it.
pub(crate) type WaitLoop = fn(url: &str, ready: &mut dyn FnMut(), taken: &mut dyn FnMut(Instant) -> bool) -> ThreadEnd;

/// A holder, and a waiter in a thread of its own.
pub(crate) struct HandoverFloor {
    holder: Box<dyn FloorHolder>,
    taken: Receiver<Instant>,
    waiter: JoinHandle<ThreadEnd>,
}

impl HandoverFloor {
    /// The waiter comes first.
    pub(crate) fn raise(url: &str) -> Result<Self, Box<dyn Error>> {
        let Bare { wait, enter, .. } = roles::bare(url);
        let (sender, taken) = channel();
        let (ready, is_ready) = channel();
        let waiters_url = url.to_owned();
        let waiter = std::thread::spawn(move || {
            let mut tell_ready = || ready.send(()).unwrap_or_default();
            wait(&waiters_url, &mut tell_ready, &mut |at| sender.send(at).is_ok())
        });
        is_ready.recv_timeout(PATIENCE)?;
        Ok(Self { holder: enter(url)?, taken, waiter })
    }

    pub(crate) fn end(self) -> Result<(), Box<dyn Error>> {
        let Self { mut holder, taken, waiter } = self;
        drop(taken);
        holder.release()?;
        waiter.join().map_err(|_| "the waiter of the floor panicked")?.map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Contestant for HandoverFloor {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        self.holder.release()?;
        let took = self.taken.recv_timeout(PATIENCE)?.saturating_since(began);
        self.holder.retake()?;
        Ok(took)
    }
}

/// A bare hand-over between two processes, from the signal on, in milliseconds.
pub(crate) fn between_processes(url: &str) -> Result<f64, Box<dyn Error>> {
    let waiter = roles::start(&["waiter", url])?;
    // The first one lets the server get to know what it is asked.
    one_handover(url, &waiter)?;
    one_handover(url, &waiter)
}

fn one_handover(url: &str, waiter: &RunningProcess) -> Result<f64, Box<dyn Error>> {
    let holder = roles::start(&["holder", url])?;
    std::thread::sleep(IDLE);
    let asked = Clock::boottime().now();
    holder.signal(Signal::TERM);
    let at = Instant::from_nanos(waiter.stdout().next("an acquisition").parse()?);
    roles::dismiss(holder)?;
    Ok(millis(asked, at))
}
