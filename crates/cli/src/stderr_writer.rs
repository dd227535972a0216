//! Standard error, written by a separate thread.
//!
//! Nobody waits for its reader. What cannot be written for so long that too much waits is dropped.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use serde::Serialize;

use crate::message::printable;
use crate::output::{json_line, now};
use crate::writer_thread::{READ_WITHIN, WriterThread};

/// Whether a program reads what is written: then every line of ours is a JSON object.
static IS_FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// Whether something could not be written, or waited in vain.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// What is told besides events, for a program.
#[derive(Debug, Serialize)]
struct NoteLine<'a> {
    /// `note` for a sentence that people are told otherwise, `log` for a line of the log.
    event: &'static str,
    message: &'a str,
    at: String,
}

/// From here on a program reads what is written.
pub fn write_for_programs() {
    IS_FOR_PROGRAMS.store(true, Ordering::Relaxed);
}

/// Whether a program reads what is written.
#[must_use]
pub fn is_for_programs() -> bool {
    IS_FOR_PROGRAMS.load(Ordering::Relaxed)
}

fn note(event: &'static str, message: &str) {
    // It never fails, and never waits for a reader.
    let _ = json_line(&mut StderrWriter, &NoteLine { event, message, at: now() });
}

/// Tells a person something. Control characters, which a server's message may hold, are escaped; line breaks stay.
pub fn say(sentence: &str) {
    if is_for_programs() {
        return note("note", sentence);
    }
    let lines: Vec<String> = sentence.lines().map(printable).collect();
    write(format!("tenure: {}\n", lines.join("\n")).into_bytes());
}

/// Waits until everything is written, but only for a limited time. Returns whether all that was ever told is written.
#[must_use]
pub fn flush() -> bool {
    let (done, flushed) = sync_channel(1);
    // Nothing is written, after everything else.
    queue(Vec::new(), move |_| {
        // Nobody waits any more if that took too long.
        let _ = done.try_send(());
    });
    // An error means that it will no longer be written.
    flushed.recv_timeout(READ_WITHIN).is_ok() && !IS_LOST.load(Ordering::Relaxed)
}

/// The writer for logs.
#[derive(Debug, Clone, Copy)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if is_for_programs() {
            note("log", String::from_utf8_lossy(text).trim_end());
            return Ok(text.len());
        }
        StderrWriter.write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The writer for events. Each write is one text, which arrives whole or not at all.
#[derive(Debug, Clone, Copy)]
pub struct StderrWriter;

impl Write for StderrWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        write(text.to_vec());
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// There is nobody left to tell when standard error is gone: the exit code has to.
fn write(text: Vec<u8>) {
    queue(text, |written| {
        if written.is_err() {
            IS_LOST.store(true, Ordering::Relaxed);
        }
    });
}

fn queue(text: Vec<u8>, on_written: impl FnOnce(io::Result<()>) + Send + 'static) {
    static WRITER: OnceLock<Option<WriterThread>> = OnceLock::new();
    match WRITER.get_or_init(|| WriterThread::start("tenure-stderr", || io::stderr().lock()).ok()) {
        Some(writer) => {
            if !writer.queue(text, on_written) {
                IS_LOST.store(true, Ordering::Relaxed);
            }
        }
        // Without a thread, to be heard late is better than never.
        None => on_written(io::stderr().write_all(&text)),
    }
}
