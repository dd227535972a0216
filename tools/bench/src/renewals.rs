//! Leases that are renewed each second by a bare loop.

use std::error::Error;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How one round of renewals ended: how many leases were renewed.
pub(crate) type Round = Result<u32, Box<dyn Error + Send + Sync>>;

/// A thread that renews.
pub(crate) struct Renewals {
    stop: Sender<()>,
    renewer: JoinHandle<Round>,
    count: u32,
}

impl Renewals {
    /// Renews so many leases each second, in this way.
    pub(crate) fn start(count: u32, mut round: impl FnMut() -> Round + Send + 'static) -> Self {
        let (stop, stopped) = channel::<()>();
        let renewer = std::thread::spawn(move || {
            let (mut due, mut fewest) = (Instant::now(), u32::MAX);
            while let Err(RecvTimeoutError::Timeout) =
                stopped.recv_timeout(due.saturating_duration_since(Instant::now()))
            {
                fewest = fewest.min(round()?);
                due += Duration::from_secs(1);
            }
            Ok(fewest)
        });
        Self { stop, renewer, count }
    }

    /// Fails if not every lease was renewed every time, because what was measured is worth nothing then.
    pub(crate) fn end(self) -> Result<(), Box<dyn Error>> {
        drop(self.stop);
        let fewest = self.renewer.join().map_err(|_| "the floor panicked")?.map_err(|error| error.to_string())?;
        if fewest == self.count { Ok(()) } else { Err(format!("only {fewest} leases were renewed").into()) }
    }
}
