//! The door of a proxy: takes connections, or refuses them, on a port that stays its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;

use super::connection;
use super::link::{ProxyLink, Rhythm};

/// A port of this host. It is bound for as long as this lives, so nobody else gets it while no one listens.
pub(super) struct ProxyListener {
    reservation: TcpSocket,
}

impl ProxyListener {
    pub(super) fn reserve(host: Ipv4Addr) -> io::Result<Self> {
        Ok(Self { reservation: bound_to(SocketAddr::from((host, 0)))? })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.reservation.local_addr()
    }

    /// Serves until the plan says stop. What it has started ends with the runtime.
    pub(super) async fn serve(self, link: Arc<ProxyLink>) -> io::Result<()> {
        tokio::spawn(flap(Arc::clone(&link)));
        while !link.plan.borrow().is_stopped {
            let listener = bound_to(self.address()?)?.listen(BACKLOG)?;
            link.is_listening.send_replace(true);
            tokio::select! {
                () = link.planned(|plan| plan.is_stopped || plan.is_refusing) => {}
                error = accept_all(&listener, &link) => return Err(error),
            }
            drop(listener);
            link.is_listening.send_replace(false);
            link.planned(|plan| plan.is_stopped || !plan.is_refusing).await;
        }
        Ok(())
    }
}

async fn accept_all(listener: &TcpListener, link: &Arc<ProxyLink>) -> io::Error {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let resets = link.plan.borrow().resets;
                link.counts.send_modify(|counts| {
                    counts.accepted += 1;
                    counts.open += 1;
                });
                tokio::spawn(connection::serve(Arc::clone(link), client, resets));
            }
            Err(error) => return error,
        }
    }
}

/// Takes the link down and up again for as long as the plan has a rhythm.
async fn flap(link: Arc<ProxyLink>) {
    loop {
        link.planned(|plan| plan.rhythm.is_some()).await;
        let Some(rhythm) = link.plan.borrow().rhythm else { continue };
        // The rhythm may have ended since it was read, and what is healed must not go down again.
        link.plan.send_modify(|plan| plan.is_down = plan.rhythm == Some(rhythm));
        link.counts.send_modify(|counts| counts.outages += 1);
        keep(&link, rhythm, rhythm.down).await;
        link.plan.send_modify(|plan| plan.is_down = false);
        keep(&link, rhythm, rhythm.up).await;
    }
}

/// Waits as long as it says, but no longer than the rhythm lasts.
async fn keep(link: &ProxyLink, rhythm: Rhythm, time: Duration) {
    let _ = timeout(time, link.planned(|plan| plan.rhythm != Some(rhythm))).await;
}

/// The option lets the reservation and the listener share the port.
fn bound_to(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

const BACKLOG: u32 = 1024;
