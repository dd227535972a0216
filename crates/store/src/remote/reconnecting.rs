//! One server, and the single connection to it that all requests share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Connects to a server.
pub trait Connect: Clone + Send + Sync + 'static {
    /// The connection that requests are sent over.
    type Connection: Clone + Send + Sync;
    /// The reason why there is no connection.
    type Fault: Clone + Send + Sync;

    /// Connects. Also returns the server's address for display.
    fn connect(&self) -> impl Future<Output = Result<(Arc<str>, Self::Connection), Self::Fault>> + Send;

    /// Waits for an answer to something harmless over a connection on which a request was given up. False if there will be
    /// none, or if another server may be the right one by now: then only a new connection will do.
    fn answers_again(&self, connection: &Self::Connection) -> impl Future<Output = bool> + Send;

    /// Whether the connection is known to be closed.
    fn is_closed(connection: &Self::Connection) -> bool;

    /// The error for a connection attempt that took too long.
    fn silent() -> Self::Fault;

    /// The error for a connection attempt that was abandoned.
    fn given_up() -> Self::Fault;
}

/// A server whose connection is opened on demand, and again after it breaks.
///
/// Nothing is ever queued for a server that does not answer: a request that is given up takes the connection with it, and
/// the next one begins with a new connection. So a server that comes back finds no burst of old requests.
///
/// A server that is merely slow must not be made slower by one login after the other, though. So the old connection is
/// asked whether it still answers: if it does before there is a new one, it is used again.
pub struct Reconnecting<D: Connect> {
    connect: D,
    status: Arc<watch::Sender<ConnectionStatus<D>>>,
}

/// A connection that works, as far as known.
pub struct LiveConnection<D: Connect> {
    number: u64,
    address: Arc<str>,
    connection: D::Connection,
}

struct ConnectionStatus<D: Connect> {
    link: Option<LiveConnection<D>>,
    /// The number of connection attempts under way.
    attempts: usize,
    /// The same attempts, oldest first, and some that are over.
    tasks: Vec<AbortHandle>,
    last_attempt: Option<Instant>,
    failure: Option<D::Fault>,
    links_made: u64,
}

/// The longest time that connecting may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// If a packet is lost, a new attempt succeeds sooner than the kernel's retransmission.
const ATTEMPT_GAP: Duration = Duration::from_millis(200);
/// When there are more, one of them is given up. The oldest never is, because over a slow network it is the one that
/// succeeds, and neither is the newest, because it may be the first one since the network is back.
const MAX_ATTEMPTS: usize = 4;

impl<D: Connect> Reconnecting<D> {
    /// Connects when a connection is first needed.
    pub fn new(connect: D) -> Self {
        let status = ConnectionStatus {
            link: None,
            attempts: 0,
            tasks: Vec::new(),
            last_attempt: None,
            failure: None,
            links_made: 0,
        };
        Self { connect, status: Arc::new(watch::Sender::new(status)) }
    }

    /// Returns the connection, and opens one if there is none. Cancel safe: an attempt to connect continues in the
    /// background.
    pub async fn link(&self) -> Result<LiveConnection<D>, D::Fault> {
        let mut status = self.status.subscribe();
        self.connect_if_needed();
        loop {
            {
                let status = status.borrow_and_update();
                match (&status.link, &status.failure) {
                    (Some(link), _) => return Ok(link.clone()),
                    (None, Some(failure)) if status.attempts == 0 => return Err(failure.clone()),
                    (None, _) => {}
                }
            }
            // The sender lives as long as this value does.
            let _ = status.changed().await;
        }
    }

    /// Guards a request over this connection: unless it is answered, the connection is not used for other requests.
    pub fn unanswered(&self, link: &LiveConnection<D>) -> UnansweredRequest<'_, D> {
        UnansweredRequest { connection: self, number: Some(link.number) }
    }

    /// Drops the connection even if it works, because there may be a better server behind the address.
    pub fn reconnect(&self) {
        self.status.send_modify(|status| status.link = None);
    }

    /// The server that requests currently go to, if any.
    pub fn server(&self) -> Option<Arc<str>> {
        self.status.borrow().link.as_ref().map(|link| Arc::clone(&link.address))
    }

    /// Notifies about the next new connection.
    pub fn changes(&self) -> impl Future<Output = ()> + use<D> {
        let mut status = self.status.subscribe();
        async move {
            let made = status.borrow_and_update().links_made;
            let _ = status.wait_for(|status| status.links_made > made).await;
        }
    }

    /// Retires a connection, if it is still in use.
    fn forget(&self, number: u64) -> Option<LiveConnection<D>> {
        let mut forgotten = None;
        self.status.send_if_modified(|status| {
            forgotten = status.link.take_if(|link| link.number == number);
            forgotten.is_some()
        });
        forgotten
    }

    /// Retires a connection until it answers, for as long as connecting may take.
    fn suspect(&self, number: u64) {
        // Without a runtime there is nobody left to use it.
        let (Some(link), Ok(runtime)) = (self.forget(number), Handle::try_current()) else { return };
        let (connect, status) = (self.connect.clone(), Arc::clone(&self.status));
        runtime.spawn(async move {
            let answers = tokio::time::timeout(CONNECT_TIMEOUT, connect.answers_again(&link.connection)).await;
            if answers == Ok(true) {
                status.send_if_modified(|status| {
                    let is_wanted = status.link.is_none();
                    if is_wanted {
                        status.link = Some(link);
                    }
                    is_wanted
                });
            }
        });
    }

    fn connect_if_needed(&self) {
        let mut begins = false;
        self.status.send_if_modified(|status| {
            status.link.take_if(|link| D::is_closed(&link.connection));
            let recent = status.last_attempt.is_some_and(|at| at.elapsed() < ATTEMPT_GAP);
            begins = status.link.is_none() && (status.attempts == 0 || !recent);
            if begins {
                status.attempts += 1;
                status.last_attempt = Some(Instant::now());
                status.failure = None;
            }
            false
        });
        if begins {
            let attempt = ConnectAttempt(Arc::clone(&self.status));
            let connect = self.connect.clone();
            let task = tokio::spawn(async move {
                let result = tokio::time::timeout(CONNECT_TIMEOUT, connect.connect()).await;
                attempt.finish(result.unwrap_or_else(|_| Err(D::silent())));
            });
            self.status.send_if_modified(|status| {
                status.tasks.retain(|task| !task.is_finished());
                status.tasks.push(task.abort_handle());
                if status.tasks.len() > MAX_ATTEMPTS {
                    status.tasks.remove(1).abort();
                }
                false
            });
        }
    }
}

impl<D: Connect> LiveConnection<D> {
    /// The server's address for display: host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The connection that requests are sent over.
    pub fn connection(&self) -> &D::Connection {
        &self.connection
    }
}

impl<D: Connect> Clone for LiveConnection<D> {
    fn clone(&self) -> Self {
        Self { number: self.number, address: Arc::clone(&self.address), connection: self.connection.clone() }
    }
}

/// A connection attempt, counted until it is over, even if its runtime ends first.
struct ConnectAttempt<D: Connect>(Arc<watch::Sender<ConnectionStatus<D>>>);

impl<D: Connect> ConnectAttempt<D> {
    fn finish(&self, result: Result<(Arc<str>, D::Connection), D::Fault>) {
        self.0.send_modify(|status| match result {
            // An earlier attempt may have succeeded meanwhile; one connection is enough.
            Ok(_) if status.link.is_some() => {}
            Ok((address, connection)) => {
                status.links_made += 1;
                status.link = Some(LiveConnection { number: status.links_made, address, connection });
            }
            Err(failure) => status.failure = Some(failure),
        });
    }
}

impl<D: Connect> Drop for ConnectAttempt<D> {
    fn drop(&mut self) {
        self.0.send_modify(|status| {
            status.attempts -= 1;
            if status.link.is_none() && status.failure.is_none() {
                status.failure = Some(D::given_up());
            }
        });
    }
}

/// A request in flight. If it is dropped before the answer, the request was abandoned.
pub struct UnansweredRequest<'a, D: Connect> {
    connection: &'a Reconnecting<D>,
    number: Option<u64>,
}

impl<D: Connect> UnansweredRequest<'_, D> {
    /// Records that the answer has come.
    pub fn answered(mut self) {
        self.number = None;
    }

    /// Records that no answer will come, or that an invalid one came: the connection is dropped.
    pub fn failed(mut self) {
        if let Some(number) = self.number.take() {
            drop(self.connection.forget(number));
        }
    }
}

impl<D: Connect> Drop for UnansweredRequest<'_, D> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.connection.suspect(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    /// A server whose connections are numbers.
    #[derive(Clone, Default)]
    struct NumberedServer(Arc<ServerState>);

    #[derive(Default)]
    struct ServerState {
        connected: AtomicUsize,
        /// Whether it accepts connections.
        is_open: AtomicBool,
        /// Signals that an old connection answers.
        late_answer: Notify,
        answers_again: AtomicBool,
    }

    impl Connect for NumberedServer {
        type Connection = usize;
        type Fault = &'static str;

        async fn connect(&self) -> Result<(Arc<str>, usize), &'static str> {
            if !self.0.is_open.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            Ok((Arc::from("server"), self.0.connected.fetch_add(1, Ordering::SeqCst)))
        }

        async fn answers_again(&self, _connection: &usize) -> bool {
            self.0.late_answer.notified().await;
            self.0.answers_again.load(Ordering::SeqCst)
        }

        fn is_closed(_connection: &usize) -> bool {
            false
        }

        fn silent() -> &'static str {
            "silent"
        }

        fn given_up() -> &'static str {
            "given up"
        }
    }

    /// A server, the way to it, and its first connection.
    async fn connected() -> (NumberedServer, Reconnecting<NumberedServer>, LiveConnection<NumberedServer>) {
        let server = NumberedServer::default();
        server.0.is_open.store(true, Ordering::SeqCst);
        let node = Reconnecting::new(server.clone());
        let link = node.link().await.unwrap();
        assert_eq!(*link.connection(), 0);
        (server, node, link)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_answers_late_is_used_again_while_there_is_no_other() {
        let (server, node, link) = connected().await;
        server.0.is_open.store(false, Ordering::SeqCst);
        drop(node.unanswered(&link));
        let waiting = node.link();
        server.0.answers_again.store(true, Ordering::SeqCst);
        server.0.late_answer.notify_one();
        assert_eq!(*waiting.await.unwrap().connection(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_is_not_given_up_for_an_old_one() {
        let (server, node, link) = connected().await;
        drop(node.unanswered(&link));
        assert_eq!(*node.link().await.unwrap().connection(), 1);
        server.0.answers_again.store(true, Ordering::SeqCst);
        server.0.late_answer.notify_one();
        tokio::time::sleep(CONNECT_TIMEOUT).await;
        assert_eq!(*node.link().await.unwrap().connection(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_failed_or_stays_silent_is_not_used_again() {
        for fails in [true, false] {
            let (server, node, link) = connected().await;
            server.0.is_open.store(false, Ordering::SeqCst);
            let request = node.unanswered(&link);
            if fails {
                server.0.answers_again.store(true, Ordering::SeqCst);
                request.failed();
            } else {
                drop(request);
            }
            server.0.late_answer.notify_one();
            assert_eq!(node.link().await.err(), Some("silent"), "it fails: {fails}");
        }
    }
}
