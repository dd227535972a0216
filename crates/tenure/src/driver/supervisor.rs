//! The thread of the driver, and its restart after a panic.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tenure_core::Backoff;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Driver, DriverCommand};
use crate::clock::Clock;
use crate::contain::contain;
use crate::disposal;
use crate::retry::spread;
use crate::store::Store;

/// A driver that ran for so long has got over what broke it.
const STEADY_AFTER: Duration = Duration::from_secs(60);
/// Between breakdowns in a row. Not for long: a candidate that leaves an election waits for it.
const RESTART: Backoff = Backoff::RETRY.with_max(Duration::from_millis(3_200));

/// Starts the driver on a thread of its own, and returns when it runs.
///
/// Its runtime is made there, too: one that is given up on a thread that belongs to another runtime would panic.
pub(crate) fn start(store: Arc<dyn Store>, clock: Clock, commands: UnboundedReceiver<DriverCommand>) -> io::Result<()> {
    let (told, begun) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("tenure-driver".to_owned()).spawn(move || {
        disposal::leave_to_others();
        let begin = || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let driver = {
                let _on_runtime = runtime.enter();
                Driver::new(store, clock, commands)?
            };
            Ok((runtime, driver))
        };
        let begin =
            contain(begin).unwrap_or_else(|panic| Err(io::Error::other(format!("the store panicked: {panic}"))));
        match begin {
            Ok((runtime, driver)) => {
                let _ = told.send(Ok(()));
                run(&runtime, driver);
                let _ = contain(|| drop(runtime));
            }
            Err(error) => drop(told.send(Err(error))),
        }
    })?;
    begun.recv().unwrap_or_else(|_| Err(io::Error::other("it ended before it was ready")))
}

/// Runs the driver to its end. Whenever it panics, all its leaderships end and it is restarted.
fn run(runtime: &Runtime, mut driver: Driver) {
    let mut breakdowns = 0_u32;
    let mut broken: Option<String> = None;
    loop {
        let since = Instant::now();
        let ran = contain(|| {
            let _span = contain(|| tracing::debug_span!("tenure-driver").entered()).ok().map(Contained::new);
            runtime.block_on(async {
                if let Some(why) = &broken {
                    driver.begin_anew(why);
                }
                driver.run().await;
            });
        });
        let Err(why) = ran else { break };
        driver.fail_closed();
        log!(error, "the election thread panicked: {why}; all its elections are restarted");
        breakdowns = if since.elapsed() < STEADY_AFTER { breakdowns.saturating_add(1) } else { 1 };
        if breakdowns > 1 {
            // What the store has going on meanwhile goes on.
            let wait = RESTART.delay(breakdowns - 1, spread());
            let _ = contain(|| runtime.block_on(tokio::time::sleep(wait)));
        }
        broken = Some(why);
    }
    // It may be the last to hold the store.
    let _ = contain(|| drop(driver));
}

/// A span of the application's subscriber: leaving it is code of the application, too.
struct Contained(Option<tracing::span::EnteredSpan>);

impl Contained {
    fn new(span: tracing::span::EnteredSpan) -> Self {
        Self(Some(span))
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        let span = self.0.take();
        let _ = contain(|| drop(span));
    }
}
