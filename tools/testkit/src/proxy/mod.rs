//! A TCP proxy that misbehaves on demand: what a bad network does, between a client and a real server.

mod connection;
mod counts;
mod fault;
mod link;
mod listener;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

pub use counts::{Counts, Traffic};
pub use fault::{Direction, ProxyFault, Stretch};
use link::{DirectionPlan, ProxyLink, ProxyPlan, Rhythm};
use listener::ProxyListener;

use crate::PATIENCE;

/// Says how many bytes the first message in these takes, or `None` if it is not yet complete.
///
/// With it, a fault strikes whole messages. It is called again with more bytes until it gives a length, which must not
/// be zero.
pub type Framing = fn(Stretch, &[u8]) -> Option<usize>;

/// A proxy on a free port of the loopback interface, in front of one server.
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::{TcpListener, TcpStream};
///
/// use tenure_testkit::proxy::{Direction, ProxyFault, Proxy};
///
/// // A server that answers one request.
/// let server = TcpListener::bind("127.0.0.1:0")?;
/// let proxy = Proxy::before(server.local_addr()?)?;
/// let executed = std::thread::spawn(move || {
///     let (mut connection, _) = server.accept()?;
///     let mut request = [0; 3];
///     connection.read_exact(&mut request)?;
///     connection.write_all(b"done")?;
///     std::io::Result::Ok(request)
/// });
///
/// proxy.inject(Direction::Replies, ProxyFault::Swallow);
/// let mut client = TcpStream::connect(proxy.address())?;
/// client.write_all(b"do!")?;
///
/// // The request was executed, and its reply is lost.
/// proxy.await_swallowed(Direction::Replies, 4);
/// assert_eq!(&executed.join().expect("it does not panic")?, b"do!");
/// # std::io::Result::Ok(())
/// ```
///
/// Faults last until they are [cleared](Self::clear) or everything is [healed](Self::heal); those for the
/// [next chunks](Self::inject_next) come first and strike one chunk each. The fault of a chunk is chosen when it
/// arrives at the proxy. Dropping the proxy closes its port and all its connections.
///
/// | a bad day | how to have it | cases of the fault catalogue |
/// |---|---|---|
/// | nothing flows, and nobody is told | [`black_hole`](Self::black_hole) | 31, 32 |
/// | the reply comes too late | [`ProxyFault::Hold`] or [`ProxyFault::Delay`] on replies | 34, 35 |
/// | the reply comes twice | [`ProxyFault::Duplicate`] on replies, with a [framing](Self::with_framing) | 36 |
/// | the reply is that to the request before | [`ProxyFault::Repeat`] on replies, with a framing | 36 |
/// | executed, but the reply is lost | [`ProxyFault::Swallow`] for the next reply | 37 |
/// | a slow server | [`ProxyFault::Delay`] | 38 |
/// | requests pass, replies are lost | [`ProxyFault::Swallow`] on replies | 39 |
/// | a flapping link | [`flap`](Self::flap) | 40 |
/// | a server that is gone, or restarts | [`refuse`](Self::refuse), [`reset`](Self::reset), [`half_close`](Self::half_close), [`ProxyFault::Truncate`] | |
///
/// A proxy cannot make a connection half-open for the kernel at either end: it acknowledges what it swallows. Where
/// that matters (31 to 33), cut a link of a [namespace](crate::netns).
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    link: Arc<ProxyLink>,
    runtime: Handle,
    patience: Duration,
    /// None only while it is dropped.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Proxy {
    /// Starts a proxy that treats what one read brings as a chunk.
    pub fn before(upstream: SocketAddr) -> io::Result<Self> {
        Self::start(Ipv4Addr::LOCALHOST, ProxyLink::new(upstream, None))
    }

    /// Starts a proxy that knows where a message ends.
    pub fn with_framing(upstream: SocketAddr, framing: Framing) -> io::Result<Self> {
        Self::start(Ipv4Addr::LOCALHOST, ProxyLink::new(upstream, Some(framing)))
    }

    /// Starts a proxy at another address of this host than the loopback interface's: that of its end of a link to a
    /// [namespace](crate::netns), from where the loopback interface cannot be reached.
    pub fn at(host: Ipv4Addr, upstream: SocketAddr) -> io::Result<Self> {
        Self::start(host, ProxyLink::new(upstream, None))
    }

    /// Changes how long the waits below last before they fail. Without this it is [`PATIENCE`].
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Where clients connect to. It stays the same while connections are refused.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does this to every chunk of one direction from now on, instead of what was done before.
    pub fn inject(&self, direction: Direction, fault: ProxyFault) {
        self.change_course(direction, |course| course.lasting = Some(fault));
    }

    /// Does this to the next chunks of one direction, over all connections, and then what was done before.
    pub fn inject_next(&self, chunks: usize, direction: Direction, fault: ProxyFault) {
        self.change_course(direction, |course| course.strikes.extend(std::iter::repeat_n(fault, chunks)));
    }

    /// Swallows everything, in both directions. New connections are accepted, and nothing flows there either.
    pub fn black_hole(&self) {
        Direction::BOTH.into_iter().for_each(|direction| self.inject(direction, ProxyFault::Swallow));
    }

    /// Ends all faults of one direction, and lets go of what was held.
    pub fn clear(&self, direction: Direction) {
        self.change_course(direction, DirectionPlan::clear);
    }

    /// Ends all faults, lets go of what was held, and accepts connections again. What is lost stays lost.
    ///
    /// # Panics
    ///
    /// If the port cannot be opened again.
    pub fn heal(&self) {
        self.change(|plan| {
            Direction::BOTH.into_iter().for_each(|direction| plan.course_mut(direction).clear());
            (plan.is_refusing, plan.is_down, plan.rhythm) = (false, false, None);
        });
        self.await_on(self.link.is_listening.subscribe(), "the port to open", |is_listening| *is_listening);
    }

    /// Refuses new connections, as a host does on which nobody listens. Those that are open stay.
    ///
    /// # Panics
    ///
    /// If the port does not close.
    pub fn refuse(&self) {
        self.change(|plan| plan.is_refusing = true);
        self.await_on(self.link.is_listening.subscribe(), "the port to close", |is_listening| !is_listening);
    }

    /// Resets all connections that have been accepted, at both ends.
    pub fn reset(&self) {
        self.change(|plan| plan.resets += 1);
    }

    /// Tells the receivers of one direction that nothing more will come, on all connections. The senders do not notice:
    /// what they send from now on is swallowed.
    pub fn half_close(&self, direction: Direction) {
        self.change_course(direction, |course| course.half_closes += 1);
    }

    /// Takes the link down for a time, up for a time, and so on until everything is [healed](Self::heal). As on a real
    /// link under TCP nothing is lost: it arrives when the link is up again.
    pub fn flap(&self, down: Duration, up: Duration) {
        self.change(|plan| plan.rhythm = Some(Rhythm { down, up }));
    }

    /// What has been counted so far.
    pub fn counts(&self) -> Counts {
        *self.link.counts.borrow()
    }

    /// The counts as they change, for asynchronous tests, which must not block their runtime:
    /// `proxy.changes().wait_for(|counts| …).await`.
    pub fn changes(&self) -> watch::Receiver<Counts> {
        self.link.counts.subscribe()
    }

    /// Waits for the counts to be as the test wants them.
    ///
    /// # Panics
    ///
    /// If that takes longer than any healthy machine needs.
    pub fn await_counts(&self, what: &str, is_reached: impl Fn(&Counts) -> bool + Send + 'static) {
        self.await_on(self.changes(), what, is_reached);
    }

    /// Waits until so many connections have been accepted since the start.
    ///
    /// # Panics
    ///
    /// If that takes longer than any healthy machine needs.
    pub fn await_connections(&self, connections: u64) {
        self.await_counts("connections", move |counts| counts.accepted >= connections);
    }

    /// Waits until so many bytes of one direction have been swallowed since the start.
    ///
    /// # Panics
    ///
    /// If that takes longer than any healthy machine needs.
    pub fn await_swallowed(&self, direction: Direction, bytes: u64) {
        self.await_counts("bytes to swallow", move |counts| counts.traffic(direction).swallowed >= bytes);
    }

    /// Waits until so many bytes of one direction have been read by the proxy and wait to be delivered.
    ///
    /// # Panics
    ///
    /// If that takes longer than any healthy machine needs.
    pub fn await_waiting(&self, direction: Direction, bytes: u64) {
        self.await_counts("bytes to hold", move |counts| counts.traffic(direction).waiting >= bytes);
    }

    fn start(host: Ipv4Addr, link: ProxyLink) -> io::Result<Self> {
        let listener = ProxyListener::reserve(host)?;
        let address = listener.address()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let link = Arc::new(link);
        let serving = Arc::clone(&link);
        let thread = thread::Builder::new().name("proxy".to_owned());
        let thread = thread.spawn(move || runtime.block_on(listener.serve(serving)))?;
        let proxy = Self { address, link, runtime: handle, patience: PATIENCE, thread: Some(thread) };
        proxy.heal();
        Ok(proxy)
    }

    fn change(&self, change: impl FnOnce(&mut ProxyPlan)) {
        self.link.plan.send_modify(change);
    }

    fn change_course(&self, direction: Direction, change: impl FnOnce(&mut DirectionPlan)) {
        self.change(|plan| change(plan.course_mut(direction)));
    }

    /// The proxy's own runtime watches, so that this works inside and outside of the test's.
    fn await_on<T: Send + Sync + 'static>(
        &self,
        mut values: watch::Receiver<T>,
        what: &str,
        is_reached: impl Fn(&T) -> bool + Send + 'static,
    ) {
        let (sender, receiver) = mpsc::channel();
        self.runtime.spawn(async move {
            if values.wait_for(is_reached).await.is_ok() {
                // The test may have lost its patience just now.
                let _ = sender.send(());
            }
        });
        let is_in_time = receiver.recv_timeout(self.patience).is_ok();
        assert!(is_in_time, "waited in vain for {what}; {:?}", self.counts());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.change(|plan| plan.is_stopped = true);
        if let Some(thread) = self.thread.take() {
            // A test that fails already is told nothing new by a proxy that failed as well.
            let _ = thread.join();
        }
    }
}
