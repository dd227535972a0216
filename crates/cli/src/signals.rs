//! Signals to `tenure` itself.

use tenure_sys::is_ignored;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::CommandError;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    /// To end: SIGTERM or SIGINT.
    End(i32),
    /// Something of the command: pass it on.
    PassOn(i32),
}

/// The signals `tenure` listens to.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// None where it is ignored: `nohup` asks for a program that a closed terminal does not end.
    hang_up: Option<Signal>,
    quit: Signal,
    user_1: Signal,
    user_2: Signal,
    window: Signal,
}

impl Signals {
    /// Starts to listen; from here on no signal ends the process by itself.
    ///
    /// # Errors
    /// When the kernel does not let us.
    pub fn listen() -> Result<Self, CommandError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: if is_ignored(rustix::process::Signal::HUP)? { None } else { Some(signal(SignalKind::hangup())?) },
            quit: signal(SignalKind::quit())?,
            user_1: signal(SignalKind::user_defined1())?,
            user_2: signal(SignalKind::user_defined2())?,
            window: signal(SignalKind::window_change())?,
        })
    }

    /// The next signal. Cancel safe.
    pub async fn next(&mut self) -> SignalRequest {
        let number = SignalKind::as_raw_value;
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::End(number(&SignalKind::terminate())),
            _ = self.interrupt.recv() => SignalRequest::End(number(&SignalKind::interrupt())),
            () = hung_up(&mut self.hang_up) => SignalRequest::PassOn(number(&SignalKind::hangup())),
            _ = self.quit.recv() => SignalRequest::PassOn(number(&SignalKind::quit())),
            _ = self.user_1.recv() => SignalRequest::PassOn(number(&SignalKind::user_defined1())),
            _ = self.user_2.recv() => SignalRequest::PassOn(number(&SignalKind::user_defined2())),
            _ = self.window.recv() => SignalRequest::PassOn(number(&SignalKind::window_change())),
        }
    }

    /// The next signal that ends a program without a command of its own, or SIGHUP. Cancel safe.
    pub async fn end_or_hang_up(&mut self) -> SignalRequest {
        let signal = self.end().await;
        if signal == SignalKind::hangup().as_raw_value() {
            SignalRequest::PassOn(signal)
        } else {
            SignalRequest::End(signal)
        }
    }

    /// The next signal that ends a program without a command of its own. Cancel safe.
    pub async fn end(&mut self) -> i32 {
        loop {
            match self.next().await {
                SignalRequest::End(signal) => return signal,
                SignalRequest::PassOn(signal) if ends_without_command(signal) => return signal,
                SignalRequest::PassOn(_) => {}
            }
        }
    }
}

async fn hung_up(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether a signal that is meant for the command ends `tenure` when there is none: the terminal was closed, say.
#[must_use]
pub fn ends_without_command(signal: i32) -> bool {
    [SignalKind::hangup(), SignalKind::quit()].iter().any(|kind| kind.as_raw_value() == signal)
}
