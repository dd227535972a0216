//! Standard output of commands that go on printing, written by a separate thread.
//!
//! Only the task that prints waits for the reader, and a command that leaves does not wait long for what is not read.

use std::io;

use serde::Serialize;
use tokio::sync::{oneshot, watch};

use crate::duration::show;
use crate::exit::CommandError;
use crate::output::{is_read, json_line};
use crate::stderr_writer::say;
use crate::writer_thread::{READ_WITHIN, WriterThread};

/// Prints one text after the other. Nothing but the task that prints waits for the reader.
#[derive(Debug)]
pub struct StdoutWriter {
    thread: WriterThread,
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

impl StdoutWriter {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start() -> Result<Self, CommandError> {
        let thread = WriterThread::start("tenure-stdout", || io::stdout().lock())?;
        Ok(Self { thread, pace: watch::Sender::new(WriterPace::Patient) })
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
        // If it is not queued, there is no outcome. Nobody waits for one any more if the command has left.
        self.thread.queue(text, move |outcome| drop(written.send(outcome)));
        tokio::select! {
            outcome = outcome => {
                let outcome = outcome.unwrap_or_else(|_| Err(io::Error::other("too much waits to be printed")));
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
