//! Standard error, written by a separate thread.
//!
//! Whoever reads it may stop reading: a terminal that is held, a log collector that hangs. Neither a renewal nor the end
//! of a command may wait for that, so nobody does. What cannot be written for so long that too much waits is dropped.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use serde::Serialize;

use crate::message::printable;
use crate::output::{json_line, now};

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
    send(WriterMessage::Text(format!("tenure: {}\n", lines.join("\n")).into_bytes()));
}

/// Waits until everything is written, but only for a limited time. Returns whether all that was ever told is written.
#[must_use]
pub fn flush() -> bool {
    let (done, flushed) = sync_channel(1);
    send(WriterMessage::Flush(done));
    // An error means that it is not going to be written any more.
    flushed.recv_timeout(FLUSH_WITHIN).is_ok() && !IS_LOST.load(Ordering::Relaxed)
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
        send(WriterMessage::Text(text.to_vec()));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum WriterMessage {
    Text(Vec<u8>),
    Flush(SyncSender<()>),
}

const FLUSH_WITHIN: Duration = Duration::from_secs(1);
/// More than is said in many minutes, and little memory.
const WAITING_MAX: usize = 1_000;

fn send(message: WriterMessage) {
    static WRITER: OnceLock<Option<SyncSender<WriterMessage>>> = OnceLock::new();
    if let Some(writer) = WRITER.get_or_init(start) {
        if writer.try_send(message).is_err() {
            IS_LOST.store(true, Ordering::Relaxed);
        }
    } else {
        // Without a thread, to be heard late is better than never.
        write(message);
    }
}

fn start() -> Option<SyncSender<WriterMessage>> {
    let (sender, messages) = sync_channel(WAITING_MAX);
    let write_all = move |messages: Receiver<WriterMessage>| messages.into_iter().for_each(write);
    std::thread::Builder::new().name("tenure-voice".to_owned()).spawn(move || write_all(messages)).ok()?;
    Some(sender)
}

fn write(message: WriterMessage) {
    // There is nobody left to tell when standard error, or whoever waited, is gone: the exit code has to.
    match message {
        WriterMessage::Text(text) => {
            if io::stderr().write_all(&text).is_err() {
                IS_LOST.store(true, Ordering::Relaxed);
            }
        }
        WriterMessage::Flush(done) => drop(done.try_send(())),
    }
}
