//! Standard error, written to by a thread of its own.
//!
//! Whoever reads it may stop reading: a terminal that is held, a log collector that hangs. Neither a renewal nor the end
//! of a command may wait for that, so nobody does. What cannot be written for so long that too much waits is dropped.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::message::printable;

/// Tells a person something. Control characters, which a server's message may hold, are escaped; line breaks stay.
pub fn say(sentence: &str) {
    let lines: Vec<String> = sentence.lines().map(printable).collect();
    send(WriterMessage::Text(format!("tenure: {}\n", lines.join("\n")).into_bytes()));
}

/// Waits until everything is written, but no longer than anybody likes to wait for an end.
pub fn flush() {
    let (done, flushed) = sync_channel(1);
    send(WriterMessage::Flush(done));
    // An error means that it is not going to be written any more.
    let _ = flushed.recv_timeout(FLUSH_WITHIN);
}

/// Where logs and events are written to. Each write is one text, which arrives whole or not at all.
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
        let _ = writer.try_send(message);
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
    // There is nobody left to tell when standard error, or whoever waited, is gone.
    match message {
        WriterMessage::Text(text) => drop(io::stderr().write_all(&text)),
        WriterMessage::Flush(done) => drop(done.try_send(())),
    }
}
