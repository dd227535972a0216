//! One server, and the one connection to it that all commands share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::error::Fault;
use super::sentinel::Sentinels;

/// A server that is connected to when it is needed, and again when the connection is of no use any more.
///
/// Nothing is ever queued for a server that does not answer: a request that is given up takes the connection with it, and
/// the next one begins with a new connection. So a server that comes back finds no burst of old requests.
pub(super) struct Node {
    dial: Dial,
    status: Arc<watch::Sender<Status>>,
}

/// Where to connect to.
#[derive(Clone)]
pub(super) enum Dial {
    /// Always the same address, looked up anew each time.
    Fixed(Arc<Client>),
    /// Wherever the sentinels say.
    Sentinels(Arc<Sentinels>),
}

/// A connection that works, as far as anybody knows.
#[derive(Clone)]
pub(super) struct Link {
    number: u64,
    address: Arc<str>,
    connection: MultiplexedConnection,
}

#[derive(Default)]
struct Status {
    link: Option<Link>,
    /// How many attempts to connect are under way.
    attempts: usize,
    /// The same attempts, the oldest first, and some that are over.
    tasks: Vec<AbortHandle>,
    last_attempt: Option<Instant>,
    failure: Option<Fault>,
    links_made: u64,
}

/// A connection that takes longer is of no use to anybody.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// When a packet is lost, a new attempt is there sooner than the kernel's repetition.
const ATTEMPT_GAP: Duration = Duration::from_millis(200);
/// When there are more, one of them is given up. The oldest never is, because over a slow network it is the one that
/// succeeds, and neither is the newest, because it may be the first one since the network is back.
const ATTEMPTS_MAX: usize = 4;

const SILENT: &str = "no answer within 5 s; check the host, the port, and whether the server speaks TLS";

impl Node {
    pub(super) fn new(dial: Dial) -> Self {
        Self { dial, status: Arc::new(watch::Sender::default()) }
    }

    /// The connection; a new one if there is none. Cancel safe: an attempt to connect goes on by itself.
    pub(super) async fn link(&self) -> Result<Link, Fault> {
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
            // The sender lives as long as this node does.
            let _ = status.changed().await;
        }
    }

    /// Sends these commands in one go, and waits for as many answers. Errors of the server are answers, too.
    pub(super) async fn exchange(&self, link: &Link, commands: Vec<Cmd>) -> Result<Vec<Value>, Fault> {
        let count = commands.len();
        let mut pipeline = Pipeline::with_capacity(count);
        for command in commands {
            pipeline.add_command(command);
        }
        let mut unanswered = Unanswered { node: self, number: Some(link.number) };
        let answers = link.connection.clone().send_packed_commands(&pipeline, 0, count).await;
        match answers {
            Ok(answers) if answers.len() == count => {
                unanswered.number = None;
                Ok(answers)
            }
            Ok(answers) => Err(Fault::Nonsense(format!("{} times to {count} commands", answers.len()))),
            Err(error) => Err(Fault::Lost(Arc::new(error))),
        }
    }

    /// Gives up the connection, whatever it is: there may be a better server behind the address.
    pub(super) fn reconnect(&self) {
        self.status.send_modify(|status| status.link = None);
    }

    /// The server that commands go to now, if there is one.
    pub(super) fn server(&self) -> Option<Arc<str>> {
        self.status.borrow().link.as_ref().map(|link| Arc::clone(&link.address))
    }

    /// Tells of new connections.
    pub(super) fn changes(&self) -> impl Future<Output = ()> + use<> {
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
            let attempt = Attempt(Arc::clone(&self.status));
            let dial = self.dial.clone();
            let task = tokio::spawn(async move {
                let result = tokio::time::timeout(CONNECT_TIMEOUT, dial.connect()).await;
                attempt.finish(result.unwrap_or_else(|_| Err(Fault::NoPrimary(SILENT.to_owned()))));
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

impl Link {
    /// Host and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Dial {
    async fn connect(&self) -> Result<(Arc<str>, MultiplexedConnection), Fault> {
        match self {
            Self::Fixed(client) => Ok((address_of(client), connect(client).await?)),
            Self::Sentinels(sentinels) => {
                let client = sentinels.primary().await?;
                let mut connection = connect(&client).await?;
                let role = redis::cmd("ROLE").query_async(&mut connection).await;
                let role: Vec<Value> = role.map_err(|error| Fault::Connect(Arc::new(error)))?;
                if role.first() != Some(&Value::BulkString(b"master".to_vec())) {
                    let message = format!("the sentinels name {}, which is no primary (yet)", address_of(&client));
                    return Err(Fault::NoPrimary(message));
                }
                Ok((address_of(&client), connection))
            }
        }
    }
}

/// Host and port of a server, which is all that is ever shown of its address.
pub(super) fn address_of(client: &Client) -> Arc<str> {
    Arc::from(client.get_connection_info().addr().to_string())
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, Fault> {
    // How long an answer may take is decided by whoever asks.
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT_TIMEOUT)).set_response_timeout(None);
    let connect = async {
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if client.get_connection_info().redis_settings().password().is_none() {
            expect_welcome(&mut connection).await?;
        }
        Ok(connection)
    };
    connect.await.map_err(|error| Fault::Connect(Arc::new(error)))
}

/// Finds out whether the server wants a password. From those who have not given it, it takes short commands only: it hangs
/// up on all others without saying why.
async fn expect_welcome(connection: &mut MultiplexedConnection) -> redis::RedisResult<()> {
    match redis::cmd("PING").query_async::<Value>(connection).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_connection_dropped() || error.code() == Some("NOAUTH") => Err(error),
        // Whatever else it has to say, it will say again.
        Err(_) => Ok(()),
    }
}

/// An attempt to connect, counted until it is over, even if its runtime ends first.
struct Attempt(Arc<watch::Sender<Status>>);

impl Attempt {
    fn finish(&self, result: Result<(Arc<str>, MultiplexedConnection), Fault>) {
        self.0.send_modify(|status| match result {
            // An earlier attempt may have succeeded meanwhile; one connection is enough.
            Ok(_) if status.link.is_some() => {}
            Ok((address, connection)) => {
                status.links_made += 1;
                status.link = Some(Link { number: status.links_made, address, connection });
            }
            Err(failure) => status.failure = Some(failure),
        });
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.0.send_modify(|status| {
            status.attempts -= 1;
            if status.link.is_none() && status.failure.is_none() {
                status.failure = Some(Fault::NoPrimary("the attempt to connect was given up".to_owned()));
            }
        });
    }
}

/// A request under way. Unless it is answered, its connection is of no use any more.
struct Unanswered<'a> {
    node: &'a Node,
    number: Option<u64>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.node.forget(number);
        }
    }
}
