//! Connections: how one is made, what is asked of it, and how its end is noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, poll_fn};
use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Row, SimpleQueryMessage};

use super::super::StoreErrorKind;
use super::error::Fault;
use super::server::Server;
use super::tls::Encryption;

/// Servers that can be connected to: one of them is the primary.
#[derive(Clone)]
pub(super) struct Endpoint {
    servers: Vec<Server>,
    is_shuffled: bool,
    place: Arc<str>,
}

/// A session that works, as far as anybody knows. It ends when the last clone is dropped, even if the server hangs.
#[derive(Clone)]
pub(super) struct Session(Arc<Open>);

struct Open {
    client: Client,
    reader: AbortHandle,
    facts: Facts,
    /// Calls so far. It begins anywhere, so that calls of two sessions are told apart.
    calls: AtomicU64,
    /// Whose turn it is to ask behind a pooler.
    turn: Mutex<()>,
    /// Somebody gave up a question there, and its answer is still to come.
    is_left: AtomicBool,
}

/// A value for each `$1`, `$2` and so on.
pub(super) type Parameters<'a> = [(&'a (dyn ToSql + Sync), Type)];

/// What a server tells of itself when one connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// As in `server_version_num`.
    pub(super) version: i32,
    /// The process that serves this session.
    pub(super) pid: i32,
    /// Something between here and the server does not let sessions have settings of their own.
    pub(super) is_pooled: bool,
}

/// What arrives without being asked for. It ends with the connection.
pub(super) type Messages = mpsc::UnboundedReceiver<AsyncMessage>;

/// What arrives, as the driver gives it. Unless somebody reads it, nothing is sent either.
type Incoming = BoxStream<'static, AsyncMessage>;

/// How long to try each of several servers, unless somebody says otherwise: all of them must have been tried before
/// whoever asked gives up, which is after 5 s.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(4);
const PATIENCE_WITH_ONE: Duration = Duration::from_secs(2);

/// The oldest version that has all it takes: it can notice that a client is gone, and end sessions that idle.
const VERSION_MIN: i32 = 14_00_00;

/// What we want of a session, whatever the role, the database or the server have set. Functions set on their own what
/// must hold behind a pooler, too.
const SETTINGS: &str = "-c statement_timeout=10s -c lock_timeout=2s -c idle_session_timeout=0 \
    -c idle_in_transaction_session_timeout=10s -c default_transaction_isolation=read\\ committed \
    -c client_connection_check_interval=1s -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 \
    -c tcp_keepalives_count=3 -c tcp_user_timeout=11000";
/// A setting that is as good as any to see whether they have arrived.
const HAS_SETTINGS: &str = "current_setting('lock_timeout') = '2s'";

impl Endpoint {
    pub(super) fn new(mut servers: Vec<Server>, is_shuffled: bool, place: String) -> Self {
        let count = u32::try_from(servers.len()).unwrap_or(u32::MAX);
        if count > 1 {
            let patience = (PATIENCE_WITH_ALL / count).min(PATIENCE_WITH_ONE);
            for server in servers.iter_mut().filter(|server| server.patience().is_none()) {
                server.config.connect_timeout(patience);
            }
        }
        Self { servers, is_shuffled, place: Arc::from(place) }
    }

    /// The same, but with connections that this end never gives up by itself: whoever uses them decides when.
    pub(super) fn patient(mut self) -> Self {
        for server in &mut self.servers {
            server.config.keepalives(false).tcp_user_timeout(Duration::from_secs(86_400));
        }
        self
    }

    pub(super) fn place(&self) -> &Arc<str> {
        &self.place
    }

    /// Connects to the first of the servers that is a primary, and returns what it says without being asked, too.
    pub(super) async fn connect(&self) -> Result<(Session, Messages), Fault> {
        let mut servers: Vec<&Server> = self.servers.iter().collect();
        if self.is_shuffled {
            servers.sort_by_cached_key(|_| getrandom::u64().unwrap_or_default());
        }
        let mut told = None;
        for server in servers {
            let fault = match patiently(server).await {
                Ok(connected) => return Ok(connected),
                Err(fault) => fault,
            };
            log!(debug, %server, error = %fault, "a server cannot be used");
            // What a server says tells more than that another one says nothing.
            told = told.filter(Fault::is_answer).or(Some(fault));
        }
        let nowhere = || Fault::Unusable(StoreErrorKind::Configuration, "there is no host to connect to".to_owned());
        Err(told.unwrap_or_else(nowhere))
    }
}

/// Connects unless it takes longer than it may.
async fn patiently(server: &Server) -> Result<(Session, Messages), Fault> {
    let Some(patience) = server.patience() else { return server.connect().await };
    match timeout(patience, server.connect()).await {
        Ok(result) => result,
        Err(_) => {
            let message = format!("no answer within {patience:?}; check the host, the port, and connect_timeout");
            Err(Fault::Unusable(StoreErrorKind::Unavailable, message))
        }
    }
}

impl Server {
    async fn connect(&self) -> Result<(Session, Messages), Fault> {
        let mut config = self.config.clone();
        config.options([self.config.get_options().unwrap_or_default(), SETTINGS].join(" ").trim());
        let (client, messages) = match self.open(&config).await {
            // Some poolers refuse to pass on what they do not know.
            Err(error) if is_about_options(&error) => self.open(&self.config).await,
            result => result,
        }
        .map_err(|error| Fault::Connect(Arc::new(error)))?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut messages = messages;
            while let Some(message) = messages.next().await {
                // Nobody may want to know, but somebody has to read.
                let _ = sender.send(message);
            }
        });
        let facts = match greet(&client).await {
            Ok(facts) => facts,
            Err(fault) => {
                reader.abort();
                return Err(fault);
            }
        };
        let session = Session(Arc::new(Open {
            client,
            reader: reader.abort_handle(),
            facts,
            calls: AtomicU64::new(getrandom::u64().unwrap_or_default()),
            turn: Mutex::default(),
            is_left: AtomicBool::new(false),
        }));
        Ok((session, receiver))
    }

    async fn open(&self, config: &Config) -> Result<(Client, Incoming), tokio_postgres::Error> {
        match &self.encryption {
            Encryption::Off => {
                let (client, mut connection) = config.connect(tokio_postgres::NoTls).await?;
                Ok((client, until_broken(poll_fn(move |context| connection.poll_message(context)))))
            }
            Encryption::On(tls) => {
                let (client, mut connection) = config.connect(tls.clone()).await?;
                Ok((client, until_broken(poll_fn(move |context| connection.poll_message(context)))))
            }
        }
    }
}

impl Session {
    pub(super) fn facts(&self) -> Facts {
        self.0.facts
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.client.is_closed() || self.0.is_left.load(Ordering::Relaxed)
    }

    /// Ends it now, whoever uses it: the server hears of it as soon as it can.
    pub(super) fn close(&self) {
        self.0.reader.abort();
    }

    /// Asks in one round trip, without a prepared statement: a pooler may send the next request elsewhere. Requests that
    /// are begun together travel together, and are answered in order, except behind a pooler. Some give the server away
    /// between two answers, and the second one goes to a stranger.
    pub(super) async fn query(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Fault> {
        if !self.0.facts.is_pooled {
            return self.0.client.query_typed(sql, parameters).await.map_err(Fault::of);
        }
        let _turn = self.0.turn.lock().await;
        if self.0.is_left.load(Ordering::Relaxed) {
            let message = "somebody gave up waiting for an answer, and the connection with it";
            return Err(Fault::Unusable(StoreErrorKind::Unavailable, message.to_owned()));
        }
        let left = Left(&self.0.is_left);
        let answer = self.0.client.query_typed(sql, parameters).await;
        left.answered();
        answer.map_err(Fault::of)
    }

    /// The same for SQL with `{call}` among its columns: each row has to repeat the number of the call, so that an answer
    /// to another one is never taken for its own.
    pub(super) async fn call(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Fault> {
        let call = i64::from_ne_bytes(self.0.calls.fetch_add(1, Ordering::Relaxed).to_ne_bytes());
        let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = parameters.to_vec();
        parameters.push((&call, Type::INT8));
        let sql = sql.replace("{call}", &format!("${}::bigint AS call", parameters.len()));
        let rows = self.query(&sql, &parameters).await?;
        if rows.iter().any(|row| row.try_get::<_, i64>("call").ok() != Some(call)) {
            return Err(Fault::Nonsense("what somebody else was to be told".to_owned()));
        }
        Ok(rows)
    }

    /// Runs statements that have no parameters.
    pub(super) async fn run(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Fault> {
        self.0.client.simple_query(sql).await.map_err(Fault::of)
    }
}

/// A question behind a pooler: unless it is answered, nobody may ask another one over the same connection.
struct Left<'a>(&'a AtomicBool);

impl Left<'_> {
    fn answered(self) {
        std::mem::forget(self);
    }
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Without this, the driver would try to say goodbye to a server that hangs.
        self.reader.abort();
    }
}

fn until_broken(
    messages: impl futures_util::Stream<Item = Result<AsyncMessage, tokio_postgres::Error>> + Send + 'static,
) -> Incoming {
    messages
        .take_while(|message| std::future::ready(message.is_ok()))
        .filter_map(|message| async { message.ok() })
        .boxed()
}

fn is_about_options(error: &tokio_postgres::Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|told| told.code().code() == "08P01" && told.message().contains("startup parameter"))
}

/// Refuses what cannot be used.
async fn greet(client: &Client) -> Result<Facts, Fault> {
    let sql = format!(
        "SELECT current_setting('server_version_num')::int, pg_backend_pid(), NOT {HAS_SETTINGS}, pg_is_in_recovery()"
    );
    let connect = |error| Fault::Connect(Arc::new(error));
    let row = client.query_typed_one(&sql, &[]).await.map_err(connect)?;
    let facts = Facts {
        version: row.try_get(0).map_err(connect)?,
        pid: row.try_get(1).map_err(connect)?,
        is_pooled: row.try_get(2).map_err(connect)?,
    };
    if facts.version < VERSION_MIN {
        let message = format!("its version is {}, and at least 14 is needed", facts.version / 10_000);
        return Err(Fault::Unusable(StoreErrorKind::Configuration, message));
    }
    if row.try_get(3).map_err(connect)? {
        let message = "it is a standby; elections are held on the primary. Name that in the address, or all of them";
        return Err(Fault::Unusable(StoreErrorKind::ReadOnly, message.to_owned()));
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_servers_are_tried_before_whoever_asked_gives_up() {
        let patience = |timeouts: &[Option<u64>]| {
            let server = |timeout: &Option<u64>| {
                let mut config = Config::new();
                if let Some(seconds) = timeout {
                    config.connect_timeout(Duration::from_secs(*seconds));
                }
                Server { config, encryption: Encryption::Off }
            };
            let endpoint = Endpoint::new(timeouts.iter().map(server).collect(), false, String::new());
            endpoint.servers.iter().map(Server::patience).collect::<Vec<_>>()
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(patience(&[None]), [None]);
        assert_eq!(patience(&[None, None]), [seconds(2), seconds(2)]);
        assert_eq!(patience(&[None; 4]), [seconds(1); 4]);
        assert_eq!(patience(&[Some(9), None]), [seconds(9), seconds(2)]);
    }
}
