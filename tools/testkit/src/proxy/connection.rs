//! One connection through a proxy: two directions, each with a queue between what is read and what is written.

use std::future::pending;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

use super::link::ProxyLink;
use super::{Direction, ProxyFault, Stretch, Traffic};

/// Carries bytes both ways until both ends have closed, one is broken, or an order to reset comes after these.
pub(super) async fn serve(link: Arc<ProxyLink>, mut client: TcpStream, resets: u64) {
    let mut server = None;
    let is_whole = tokio::select! {
        result = carry(&link, &mut client, &mut server) => result.is_ok(),
        () = link.planned(|plan| plan.resets > resets) => false,
    };
    for stream in [Some(client), server].into_iter().flatten() {
        if !is_whole {
            // Without lingering, closing sends a reset. A socket for which this fails is broken already.
            let _ = stream.set_zero_linger();
        }
    }
    link.counts.send_modify(|counts| {
        counts.open -= 1;
        counts.resets += u64::from(!is_whole);
    });
}

async fn carry(link: &ProxyLink, client: &mut TcpStream, server: &mut Option<TcpStream>) -> io::Result<()> {
    let server = server.insert(TcpStream::connect(link.upstream).await?);
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let [requests, replies] = Direction::BOTH.map(|direction| ConnectionDirection::new(link, direction));
    tokio::try_join!(requests.run(from_client, to_server), replies.run(from_server, to_client)).map(drop)
}

/// One direction of one connection.
struct ConnectionDirection<'a> {
    link: &'a ProxyLink,
    direction: Direction,
    /// How many orders to half-close had been given before it began.
    half_closes: u64,
}

/// A chunk on its way.
struct QueuedChunk {
    bytes: Vec<u8>,
    due: Option<Instant>,
    /// A held chunk waits for more releases than these.
    held_at: Option<u64>,
    is_followed_by_reset: bool,
}

impl<'a> ConnectionDirection<'a> {
    fn new(link: &'a ProxyLink, direction: Direction) -> Self {
        Self { link, direction, half_closes: link.plan.borrow().course(direction).half_closes }
    }

    async fn run(self, source: ReadHalf<'_>, sink: WriteHalf<'_>) -> io::Result<()> {
        let (queue, chunks) = channel(MAX_CHUNKS);
        tokio::try_join!(self.collect(source, queue), self.deliver(chunks, sink)).map(drop)
    }

    /// Reads until the source has closed. The queue is dropped when the other end is to learn of it.
    async fn collect(&self, mut source: ReadHalf<'_>, queue: Sender<QueuedChunk>) -> io::Result<()> {
        tokio::select! {
            result = self.queue_all(&mut source, &queue) => return result,
            () = self.link.planned(|plan| plan.course(self.direction).half_closes > self.half_closes) => {}
        }
        drop(queue);
        self.swallow_all(source).await
    }

    async fn queue_all(&self, source: &mut ReadHalf<'_>, queue: &Sender<QueuedChunk>) -> io::Result<()> {
        let (mut bytes, mut before) = (Vec::new(), Vec::new());
        let mut stretch = Stretch { direction: self.direction, is_first: true };
        loop {
            let length = source.read_buf(&mut bytes).await?;
            self.count(|traffic| traffic.arrived += as_count(length));
            while let Some(chunk) = self.link.cut(stretch, &mut bytes) {
                stretch.is_first = false;
                self.queue(chunk, &mut before, queue).await;
            }
            if length == 0 {
                // The rest of a frame that will never be complete.
                self.queue(bytes, &mut before, queue).await;
                return self.close().await;
            }
        }
    }

    /// Does to a chunk what is planned, and sends on what is left of it.
    async fn queue(&self, bytes: Vec<u8>, before: &mut Vec<u8>, queue: &Sender<QueuedChunk>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        let (fault, releases) = self.link.next_fault(self.direction);
        let mut chunk = QueuedChunk { bytes, due: None, held_at: None, is_followed_by_reset: false };
        match fault {
            None => {}
            Some(ProxyFault::Delay(delay)) => chunk.due = Some(Instant::now() + delay),
            Some(ProxyFault::Hold) => chunk.held_at = Some(releases),
            Some(ProxyFault::Swallow) => chunk.bytes.clear(),
            Some(ProxyFault::Duplicate) => chunk.bytes.extend_from_within(..),
            Some(ProxyFault::Repeat) if before.is_empty() => {}
            Some(ProxyFault::Repeat) => chunk.bytes.clone_from(before),
            Some(ProxyFault::Truncate(rest)) => {
                chunk.bytes.truncate(rest);
                chunk.is_followed_by_reset = true;
            }
        }
        before.clone_from(&chunk.bytes);
        self.count(|traffic| {
            traffic.struck += u64::from(fault.is_some());
            traffic.swallowed += as_count(length.saturating_sub(chunk.bytes.len()));
            traffic.waiting += as_count(chunk.bytes.len());
        });
        // The other side ends only with the connection.
        let _ = queue.send(chunk).await;
    }

    /// A close is subject to the lasting fault, like a chunk without bytes.
    async fn close(&self) -> io::Result<()> {
        let (lasting, releases) = {
            let plan = self.link.plan.borrow();
            let course = plan.course(self.direction);
            (course.lasting, course.releases)
        };
        self.count(|traffic| traffic.closes += 1);
        match lasting {
            Some(ProxyFault::Swallow) => pending().await,
            Some(ProxyFault::Hold) => self.released(releases).await,
            None
            | Some(ProxyFault::Delay(_) | ProxyFault::Duplicate | ProxyFault::Repeat | ProxyFault::Truncate(_)) => {}
        }
        Ok(())
    }

    /// Reads on, so that the sender does not notice that nobody listens.
    async fn swallow_all(&self, mut source: ReadHalf<'_>) -> io::Result<()> {
        let mut bytes = [0; 4096];
        loop {
            match source.read(&mut bytes).await? {
                0 => return Ok(()),
                length => self.count(|traffic| {
                    traffic.arrived += as_count(length);
                    traffic.swallowed += as_count(length);
                }),
            }
        }
    }

    /// Writes what was queued, each chunk when its time has come, and closes at the end of the queue.
    async fn deliver(&self, mut chunks: Receiver<QueuedChunk>, mut sink: WriteHalf<'_>) -> io::Result<()> {
        while let Some(chunk) = chunks.recv().await {
            if let Some(due) = chunk.due {
                sleep_until(due).await;
            }
            if let Some(releases) = chunk.held_at {
                self.released(releases).await;
            }
            self.link.planned(|plan| !plan.is_down).await;
            // Counted first: whoever has read the bytes must find them counted.
            let length = as_count(chunk.bytes.len());
            self.count(|traffic| {
                traffic.waiting -= length;
                traffic.delivered += length;
            });
            sink.write_all(&chunk.bytes).await?;
            if chunk.is_followed_by_reset {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
        self.link.planned(|plan| !plan.is_down).await;
        sink.shutdown().await
    }

    async fn released(&self, releases: u64) {
        self.link.planned(|plan| plan.course(self.direction).releases > releases).await;
    }

    fn count(&self, change: impl FnOnce(&mut Traffic)) {
        self.link.counts.send_modify(|counts| change(counts.traffic_mut(self.direction)));
    }
}

fn as_count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A sender that is so far ahead has to wait, as it would for a full window.
const MAX_CHUNKS: usize = 64;
