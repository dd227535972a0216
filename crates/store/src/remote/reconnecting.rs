//! One server, and the one connection to it that all requests share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::AbortHandle;

/// How to connect to a server.
pub trait Connect: Clone + Send + Sync + 'static {
    /// What requests are sent over.
    type Connection: Clone + Send + Sync;
    /// Why there is none.
    type Fault: Clone + Send + Sync;

    /// Connects. Returns the server as people know it, too.
    fn connect(&self) -> impl Future<Output = Result<(Arc<str>, Self::Connection), Self::Fault>> + Send;

    /// Whether it is known that nothing will be answered any more.
    fn is_closed(connection: &Self::Connection) -> bool;

    /// What is wrong when connecting took too long.
    fn silent() -> Self::Fault;

    /// What is wrong when an attempt to connect was given up.
    fn given_up() -> Self::Fault;
}

/// A server that is connected to when it is needed, and again when the connection is of no use any more.
///
/// Nothing is ever queued for a server that does not answer: a request that is given up takes the connection with it, and
/// the next one begins with a new connection. So a server that comes back finds no burst of old requests.
pub struct Reconnecting<D: Connect> {
    connect: D,
    status: Arc<watch::Sender<ConnectionStatus<D>>>,
}

/// A connection that works, as far as anybody knows.
pub struct LiveConnection<D: Connect> {
    number: u64,
    address: Arc<str>,
    connection: D::Connection,
}

struct ConnectionStatus<D: Connect> {
    link: Option<LiveConnection<D>>,
    /// How many attempts to connect are under way.
    attempts: usize,
    /// The same attempts, the oldest first, and some that are over.
    tasks: Vec<AbortHandle>,
    last_attempt: Option<Instant>,
    failure: Option<D::Fault>,
    links_made: u64,
}

/// A connection that takes longer is of no use to anybody.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// When a packet is lost, a new attempt is there sooner than the kernel's repetition.
const ATTEMPT_GAP: Duration = Duration::from_millis(200);
/// When there are more, one of them is given up. The oldest never is, because over a slow network it is the one that
/// succeeds, and neither is the newest, because it may be the first one since the network is back.
const ATTEMPTS_MAX: usize = 4;

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

    /// The connection; a new one if there is none. Cancel safe: an attempt to connect goes on by itself.
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

    /// Guards a request over this connection: unless it is answered, the connection is of no use any more.
    pub fn unanswered(&self, link: &LiveConnection<D>) -> UnansweredRequest<'_, D> {
        UnansweredRequest { connection: self, number: Some(link.number) }
    }

    /// Gives up the connection, whatever it is: there may be a better server behind the address.
    pub fn reconnect(&self) {
        self.status.send_modify(|status| status.link = None);
    }

    /// The server that requests go to now, if there is one.
    pub fn server(&self) -> Option<Arc<str>> {
        self.status.borrow().link.as_ref().map(|link| Arc::clone(&link.address))
    }

    /// Tells of the next new connection.
    pub fn changes(&self) -> impl Future<Output = ()> + use<D> {
        let mut status = self.status.subscribe();
        async move {
            let made = status.borrow_and_update().links_made;
            let _ = status.wait_for(|status| status.links_made > made).await;
        }
    }

    fn forget(&self, number: u64) {
        self.status.send_if_modified(|status| {
            let is_current = status.link.as_ref().is_some_and(|link| link.number == number);
            if is_current {
                status.link = None;
            }
            is_current
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
                if status.tasks.len() > ATTEMPTS_MAX {
                    status.tasks.remove(1).abort();
                }
                false
            });
        }
    }
}

impl<D: Connect> LiveConnection<D> {
    /// The server as people know it: host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What requests are sent over.
    pub fn connection(&self) -> &D::Connection {
        &self.connection
    }
}

impl<D: Connect> Clone for LiveConnection<D> {
    fn clone(&self) -> Self {
        Self { number: self.number, address: Arc::clone(&self.address), connection: self.connection.clone() }
    }
}

/// An attempt to connect, counted until it is over, even if its runtime ends first.
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

/// A request under way.
pub struct UnansweredRequest<'a, D: Connect> {
    connection: &'a Reconnecting<D>,
    number: Option<u64>,
}

impl<D: Connect> UnansweredRequest<'_, D> {
    /// The answer has come.
    pub fn answered(mut self) {
        self.number = None;
    }
}

impl<D: Connect> Drop for UnansweredRequest<'_, D> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.connection.forget(number);
        }
    }
}
