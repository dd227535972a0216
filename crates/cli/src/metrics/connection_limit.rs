//! Limits for clients: how many there are at once, and how long each may take.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

/// More connections could take descriptors that the election needs.
const MAX_CONNECTIONS: usize = 16;
/// A client that has not sent its request by then is disconnected.
const ASK_WITHIN: Duration = Duration::from_secs(5);
/// More than Prometheus waits by default, and an end for those who would read for ever.
const READ_WITHIN: Duration = Duration::from_secs(15);
/// Before the next attempt, when no connection can be taken: mostly because no descriptor is free.
const PAUSE: Duration = Duration::from_secs(1);

/// A listener with a limit on connections. At the limit, the client that has been idle longest is disconnected.
pub(super) struct ConnectionLimit {
    listener: TcpListener,
    /// The oldest first.
    slots: Vec<ConnectionSlot>,
}

/// The place of a client, as the gate sees it. Dropping it sends the client away.
struct ConnectionSlot {
    stays: oneshot::Sender<()>,
    is_answered: Arc<AtomicBool>,
}

impl ConnectionLimit {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, slots: Vec::new() }
    }

    /// Waits until there is room for one more; at most until somebody has read for too long.
    async fn make_room(&mut self) {
        poll_fn(|cx| {
            self.slots.retain_mut(|place| place.stays.poll_closed(cx).is_pending());
            if self.slots.len() < MAX_CONNECTIONS {
                return Poll::Ready(());
            }
            match self.slots.iter().position(|place| !place.is_answered.load(Ordering::Acquire)) {
                Some(idle) => {
                    self.slots.remove(idle);
                    Poll::Ready(())
                }
                None => Poll::Pending,
            }
        })
        .await;
    }

    fn slot(&mut self, stream: TcpStream) -> LimitedConnection {
        let (stays, sent_away) = oneshot::channel();
        let is_answered = Arc::new(AtomicBool::new(false));
        self.slots.push(ConnectionSlot { stays, is_answered: Arc::clone(&is_answered) });
        LimitedConnection { stream, end: Box::pin(tokio::time::sleep(ASK_WITHIN)), sent_away, is_answered }
    }
}

impl Listener for ConnectionLimit {
    type Io = LimitedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (LimitedConnection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    self.make_room().await;
                    return (self.slot(stream), from);
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a metrics client");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection. From its last moment on, every use of it fails.
pub(super) struct LimitedConnection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    sent_away: oneshot::Receiver<()>,
    is_answered: Arc<AtomicBool>,
}

impl LimitedConnection {
    fn in_time(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        if Pin::new(&mut self.sent_away).poll(cx).is_ready() || self.end.as_mut().poll(cx).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Pin::new(&mut self.stream))
    }

    /// It has asked, and is no longer sent away for others. From here on it has the time to read.
    fn answered(&mut self) {
        if !self.is_answered.swap(true, Ordering::AcqRel) {
            self.end.as_mut().reset(Instant::now() + READ_WITHIN);
        }
    }
}

impl AsyncRead for LimitedConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_read(cx, into)
    }
}

impl AsyncWrite for LimitedConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.answered();
        self.in_time(cx)?.poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream as Client;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::runtime::Builder;

    use super::*;

    /// Runs where waiting takes no time.
    fn at_a_limit<F: Future<Output = ()>>(test: impl FnOnce(ConnectionLimit, SocketAddr) -> F) {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let limit = ConnectionLimit::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
            let address = limit.local_addr().unwrap();
            test(limit, address).await;
        });
    }

    #[test]
    fn a_silent_client_is_not_waited_for() {
        at_a_limit(async |mut limit, address| {
            let _silent = Client::connect(address).unwrap();
            let (mut visit, _) = limit.accept().await;
            let error = visit.read_u8().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn whoever_has_not_asked_makes_room_for_the_next() {
        at_a_limit(async |mut limit, address| {
            let _clients: Vec<Client> = (0..=MAX_CONNECTIONS).map(|_| Client::connect(address).unwrap()).collect();
            let mut visits = Vec::new();
            for _ in 0..=MAX_CONNECTIONS {
                visits.push(limit.accept().await.0);
            }
            let began = Instant::now();
            visits[0].read_u8().await.unwrap_err();
            assert_eq!(began.elapsed(), Duration::ZERO, "the first is sent away at once");
            assert!(visits[1].read_u8().await.is_err() && began.elapsed() >= ASK_WITHIN, "the others have their time");
        });
    }

    #[test]
    fn whoever_is_answered_is_waited_for_and_no_longer_than_it_may_read() {
        at_a_limit(async |mut limit, address| {
            let _clients: Vec<Client> = (0..=MAX_CONNECTIONS).map(|_| Client::connect(address).unwrap()).collect();
            let mut visits = Vec::new();
            for _ in 0..MAX_CONNECTIONS {
                let (mut visit, _) = limit.accept().await;
                visit.write_all(b"answer").await.unwrap();
                visits.push(visit);
            }
            assert!(tokio::time::timeout(ASK_WITHIN, limit.accept()).await.is_err());
            visits.pop();
            let _late = Client::connect(address).unwrap();
            limit.accept().await;
            assert_eq!(visits[0].read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }
}
