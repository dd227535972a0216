//! Standard output of commands that go on printing, written by a separate thread.
//!
//! Its reader may stop reading, and then a write waits for ever. Signals must be obeyed and the election left all the same,
//! so no other thread writes, and a command that leaves does not wait long for what is not read.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{oneshot, watch};

use crate::duration::show;
use crate::exit::CommandError;
use crate::output::{is_read, json_line};
use crate::stderr_writer::say;

/// The longest wait for a reader once the command leaves.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// Prints one text after the other. Nothing but the task that prints waits for the reader.
#[derive(Debug)]
pub struct StdoutWriter {
    texts: Sender<PendingText>,
    pace: watch::Sender<WriterPace>,
}

/// The outcome of printing one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// It is written.
    Written,
    /// The reader is gone.
    ReaderGone,
    /// The command leaves, and the text was not read in time. It may be written in part.
    Abandoned,
}

/// How long texts are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriterPace {
    Patient,
    Leaving,
    Abandoned,
}

struct PendingText {
    text: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl StdoutWriter {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start() -> Result<Self, CommandError> {
        let (texts, pending) = channel();
        std::thread::Builder::new().name("tenure-output".to_owned()).spawn(move || write_all(pending))?;
        Ok(Self { texts, pace: watch::Sender::new(WriterPace::Patient) })
    }

    /// Prints a text and waits until it is written: for ever if it is not read, unless the command [leaves](Self::leave).
    /// Dropping the future does not take the text back.
    ///
    /// # Errors
    /// When standard output cannot be written to, because the disk is full, say.
    pub async fn print(&self, text: Vec<u8>) -> Result<Printed, CommandError> {
        if text.is_empty() {
            return Ok(Printed::Written);
        }
        if *self.pace.borrow() == WriterPace::Abandoned {
            return Ok(Printed::Abandoned);
        }
        let (written, outcome) = oneshot::channel();
        // If the thread is gone, there is no outcome.
        let _ = self.texts.send(PendingText { text, written });
        tokio::select! {
            outcome = outcome => {
                let outcome = outcome.unwrap_or_else(|_| Err(io::Error::other("the thread that prints has ended")));
                is_read(outcome).map(|read| if read { Printed::Written } else { Printed::ReaderGone })
            }
            () = self.overdue() => {
                self.pace.send_replace(WriterPace::Abandoned);
                say(&format!(
                    "standard output was not read within {} of the end; the last lines are lost", show(READ_WITHIN)
                ));
                Ok(Printed::Abandoned)
            }
        }
    }

    /// Prints a value as one JSON line, as [`print`](Self::print) does.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub async fn print_json(&self, value: &impl Serialize) -> Result<Printed, CommandError> {
        let mut text = Vec::new();
        json_line(&mut text, value)?;
        self.print(text).await
    }

    /// The command leaves: from here on a text that is not read in time is given up, and all that follow it.
    pub fn leave(&self) {
        self.pace.send_if_modified(|pace| {
            let is_new = *pace == WriterPace::Patient;
            if is_new {
                *pace = WriterPace::Leaving;
            }
            is_new
        });
    }

    /// Whether the command leaves.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        *self.pace.borrow() != WriterPace::Patient
    }

    /// Completes when a text that is not written by then is given up.
    async fn overdue(&self) {
        let mut pace = self.pace.subscribe();
        // The sender is here, so this does not fail.
        let _ = pace.wait_for(|pace| *pace != WriterPace::Patient).await;
        tokio::time::sleep(READ_WITHIN).await;
    }
}

fn write_all(texts: Receiver<PendingText>) {
    for PendingText { text, written } in texts {
        let mut stdout = io::stdout().lock();
        // Nobody waits any more if the command has left.
        let _ = written.send(stdout.write_all(&text).and_then(|()| stdout.flush()));
    }
}
