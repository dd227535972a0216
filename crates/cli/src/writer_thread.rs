//! A separate thread that writes to a stream.
//!
//! The reader of standard output or standard error may stop reading: a terminal that is held, a log collector that hangs.
//! Then a write waits for ever. Neither a renewal nor a signal nor the end of a command may wait for that, so no other
//! thread writes.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// The longest wait for a reader once the command ends.
pub(crate) const READ_WITHIN: Duration = Duration::from_secs(1);

/// More texts than are written in many minutes, and little memory.
const MAX_QUEUED: usize = 1_000;

/// Writes one text after the other to a stream. Whoever hands it a text never waits for the reader.
#[derive(Debug)]
pub(crate) struct WriterThread {
    texts: SyncSender<QueuedText>,
}

struct QueuedText {
    text: Vec<u8>,
    on_written: Box<dyn FnOnce(io::Result<()>) + Send>,
}

impl WriterThread {
    /// Starts the thread. It takes hold of the stream for one text at a time.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start<W: Write + 'static>(name: &str, lock: fn() -> W) -> io::Result<Self> {
        let (texts, queued) = sync_channel(MAX_QUEUED);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || write_all(lock, queued))?;
        Ok(Self { texts })
    }

    /// Queues a text, which is written whole unless the stream fails. The function is called on the thread, with the
    /// outcome. Returns false if too much waits already: then the text is dropped, and so is the function.
    pub(crate) fn queue(&self, text: Vec<u8>, on_written: impl FnOnce(io::Result<()>) + Send + 'static) -> bool {
        self.texts.try_send(QueuedText { text, on_written: Box::new(on_written) }).is_ok()
    }
}

fn write_all<W: Write>(lock: fn() -> W, queued: Receiver<QueuedText>) {
    for QueuedText { text, on_written } in queued {
        let mut stream = lock();
        on_written(stream.write_all(&text).and_then(|()| stream.flush()));
    }
}
