//! Limits for clients: how many there are at once, and how long each may take.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// Others wait in the kernel, and take none of the descriptors that the election may need.
const VISITORS_MAX: usize = 16;
/// More than Prometheus waits by default, and an end for those who would stay.
const VISIT_LONGEST: Duration = Duration::from_secs(15);
/// Before the next attempt, when no connection can be taken: mostly because no descriptor is free.
const PAUSE: Duration = Duration::from_secs(1);

/// Lets in so many clients at a time.
pub(super) struct Gate {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Gate {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(VISITORS_MAX)) }
    }
}

impl Listener for Gate {
    type Io = Visit;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Visit, SocketAddr) {
        loop {
            // It is never closed.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return std::future::pending().await };
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let end = Box::pin(tokio::time::sleep(VISIT_LONGEST));
                    return (Visit { stream, end, _place: place }, from);
                }
                Err(error) => {
                    tracing::debug!(%error, "a client of metrics was not let in");
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
pub(super) struct Visit {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Visit {
    fn in_time(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for Visit {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx)?.poll_read(cx, into)
    }
}

impl AsyncWrite for Visit {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
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

    use tokio::io::AsyncReadExt;
    use tokio::runtime::Builder;

    use super::*;

    /// Runs where waiting takes no time.
    fn at_a_gate<F: Future<Output = ()>>(test: impl FnOnce(Gate, SocketAddr) -> F) {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let gate = Gate::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
            let address = gate.local_addr().unwrap();
            test(gate, address).await;
        });
    }

    #[test]
    fn a_silent_client_is_not_waited_for() {
        at_a_gate(async |mut gate, address| {
            let _silent = Client::connect(address).unwrap();
            let (mut visit, _) = gate.accept().await;
            let error = visit.read_u8().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn whoever_finds_no_place_gets_the_next_that_is_free() {
        at_a_gate(async |mut gate, address| {
            let _clients: Vec<Client> = (0..=VISITORS_MAX).map(|_| Client::connect(address).unwrap()).collect();
            let mut visits = Vec::new();
            for _ in 0..VISITORS_MAX {
                visits.push(gate.accept().await);
            }
            assert!(tokio::time::timeout(VISIT_LONGEST, gate.accept()).await.is_err());
            visits.pop();
            gate.accept().await;
        });
    }
}
