//! Connections: opening them, sending queries, and noticing their end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures_util::stream::{BoxStream, StreamExt, poll_fn};
use tenure_store::StoreErrorKind;
use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Row, SimpleQueryMessage};

use super::address::server::ServerAddress;
use super::address::tls::Encryption;
use super::error::PostgresStoreError;
use super::known_servers::{ServerHistory, SessionServer};

/// A session that works, as far as known. It ends when the last clone is dropped, even if the server hangs.
#[derive(Clone)]
pub(super) struct Session(Arc<OpenSession>);

struct OpenSession {
    client: Client,
    reader: AbortHandle,
    facts: ServerFacts,
    session_server: SessionServer,
    /// The number of calls so far, from a random start, so that calls of two sessions can be told apart.
    calls: AtomicU64,
    /// Makes requests take turns behind a pooler.
    turn: Mutex<()>,
    /// Whether a request there was abandoned, and its answer is still to come.
    is_left: AtomicBool,
}

/// A value for each `$1`, `$2` and so on.
pub(super) type Parameters<'a> = [(&'a (dyn ToSql + Sync), Type)];

/// The server's description of itself on connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerFacts {
    /// As in `server_version_num`.
    pub(super) version: i32,
    /// The process that serves this session.
    pub(super) pid: i32,
    /// Whether something between here and the server keeps sessions from having their own settings.
    pub(super) is_pooled: bool,
    /// Whether it follows another server, and takes no writes.
    pub(super) is_standby: bool,
    /// `None` if the server does not say, as some managed ones do not.
    pub(super) history: Option<ServerHistory>,
}

/// A reference to a session that does not keep it alive.
pub(super) struct SessionRef(Weak<OpenSession>);

/// Messages that arrive unasked. The stream ends with the connection.
pub(super) type Notifications = mpsc::UnboundedReceiver<AsyncMessage>;

/// Incoming messages, as the driver delivers them. Unless they are read, nothing is sent either.
type Incoming = BoxStream<'static, AsyncMessage>;

/// The oldest version that has all it takes: it can notice that a client is gone, and end sessions that idle.
const MIN_VERSION: i32 = 14_00_00;

/// What we want of a session, whatever the role, the database or the server have set. Functions set on their own what
/// must hold behind a pooler, too; statements name what they call in full, since others may have left better matches about.
const SETTINGS: &str = "-c search_path=pg_catalog,pg_temp -c client_min_messages=warning \
    -c statement_timeout=10s -c lock_timeout=2s -c idle_session_timeout=0 -c idle_in_transaction_session_timeout=10s \
    -c default_transaction_isolation=read\\ committed -c client_connection_check_interval=1s \
    -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=11000";
/// A setting that shows whether all of them have arrived.
const HAS_SETTINGS: &str = "pg_catalog.current_setting('lock_timeout') = '2s'";

impl ServerAddress {
    /// Connects, whether or not the server is a primary.
    pub(super) async fn connect(
        &self,
        session_server: SessionServer,
    ) -> Result<(Session, Notifications), PostgresStoreError> {
        let mut config = self.config.clone();
        config.options([self.config.get_options().unwrap_or_default(), SETTINGS].join(" ").trim());
        let (client, messages) = match self.open(&config).await {
            // Some poolers refuse to pass on what they do not know.
            Err(error) if is_about_options(&error) => self.open(&self.config).await,
            result => result,
        }
        .map_err(|error| PostgresStoreError::Connect(Arc::new(error)))?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut messages = messages;
            while let Some(message) = messages.next().await {
                if is_unconfirmed(&message) {
                    log!(warn, "a wait for a standby was cancelled; asking again for its confirmation");
                    break;
                }
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
        let session = Session(Arc::new(OpenSession {
            client,
            reader: reader.abort_handle(),
            facts,
            session_server,
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
    pub(super) fn facts(&self) -> ServerFacts {
        self.0.facts
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.client.is_closed() || self.0.is_left.load(Ordering::Relaxed)
    }

    pub(super) fn downgrade(&self) -> SessionRef {
        SessionRef(Arc::downgrade(&self.0))
    }

    /// Ends it now, even if it is in use: the server hears of it as soon as it can.
    pub(super) fn close(&self) {
        self.0.reader.abort();
    }

    /// Asks in one round trip, without a prepared statement: a pooler may send the next request elsewhere. Requests that
    /// are begun together travel together, and are answered in order, except behind a pooler. Some give the server away
    /// between two answers, and the second one goes to a stranger.
    pub(super) async fn query(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, PostgresStoreError> {
        let asked = PendingQuery(&self.0.session_server);
        let answer = self.query_in_turn(sql, parameters).await;
        match &answer {
            Err(PostgresStoreError::Lost(_)) => {}
            _ => asked.answered(),
        }
        answer
    }

    async fn query_in_turn(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, PostgresStoreError> {
        if !self.0.facts.is_pooled {
            return self.0.client.query_typed(sql, parameters).await.map_err(PostgresStoreError::of);
        }
        let _turn = self.0.turn.lock().await;
        if self.0.is_left.load(Ordering::Relaxed) {
            let message = "an earlier request on this connection was abandoned without an answer";
            return Err(PostgresStoreError::Unusable(StoreErrorKind::Unavailable, message.to_owned()));
        }
        let left = PooledQuery(&self.0.is_left);
        let answer = self.0.client.query_typed(sql, parameters).await;
        left.answered();
        answer.map_err(PostgresStoreError::of)
    }

    /// The same for SQL with `{call}` among its columns: each row has to repeat the number of the call, so that an answer
    /// to another one is never taken for its own.
    pub(super) async fn call(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, PostgresStoreError> {
        let call = i64::from_ne_bytes(self.0.calls.fetch_add(1, Ordering::Relaxed).to_ne_bytes());
        let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = parameters.to_vec();
        parameters.push((&call, Type::INT8));
        let sql = sql.replace("{call}", &format!("${}::bigint AS call", parameters.len()));
        let rows = self.query(&sql, &parameters).await?;
        if rows.iter().any(|row| row.try_get::<_, i64>("call").ok() != Some(call)) {
            return Err(PostgresStoreError::Nonsense("the answer to another request".to_owned()));
        }
        Ok(rows)
    }

    /// Runs statements that have no parameters.
    pub(super) async fn run(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>, PostgresStoreError> {
        self.0.client.simple_query(sql).await.map_err(PostgresStoreError::of)
    }
}

impl SessionRef {
    pub(super) fn is_open(&self) -> bool {
        self.0.upgrade().is_some_and(|open| !Session(open).is_closed())
    }

    /// Its index among the servers of the address.
    pub(super) fn server(&self) -> Option<usize> {
        self.0.upgrade().map(|open| open.session_server.server)
    }

    pub(super) fn close(&self) {
        if let Some(open) = self.0.upgrade() {
            Session(open).close();
        }
    }
}

impl ServerFacts {
    /// The timeline for display.
    pub(super) fn timeline_words(&self) -> String {
        self.history.map_or_else(
            || "it does not report its timeline".to_owned(),
            |history| format!("timeline {}", history.timeline),
        )
    }
}

/// A pending query: if dropped without an answer, the server counts as silent.
struct PendingQuery<'a>(&'a SessionServer);

impl PendingQuery<'_> {
    fn answered(self) {
        self.0.known.heard(self.0.server, true);
        std::mem::forget(self);
    }
}

impl Drop for PendingQuery<'_> {
    fn drop(&mut self) {
        self.0.known.heard(self.0.server, false);
    }
}

/// A query behind a pooler: until it is answered, no other may be sent over the same connection.
struct PooledQuery<'a>(&'a AtomicBool);

impl PooledQuery<'_> {
    fn answered(self) {
        std::mem::forget(self);
    }
}

impl Drop for PooledQuery<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for OpenSession {
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

/// Whether the server gave up waiting for a standby, and is about to say that all is well. Ending the connection before that
/// leaves it open what became of the request, which is the truth. The words are in the language of the server; this is not.
fn is_unconfirmed(message: &AsyncMessage) -> bool {
    matches!(message, AsyncMessage::Notice(notice) if notice.routine() == Some("SyncRepWaitForLSN"))
}

fn is_about_options(error: &tokio_postgres::Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|told| told.code().code() == "08P01" && told.message().contains("startup parameter"))
}

/// The history of writes that a server continues, as far as it is public. Some servers show only part of it, or nothing.
const HISTORIES: [&str; 3] = [
    "(SELECT system_identifier FROM pg_catalog.pg_control_system()) AS system, \
     CASE WHEN NOT pg_catalog.pg_is_in_recovery() \
     THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) END AS segment",
    "NULL::bigint AS system, CASE WHEN NOT pg_catalog.pg_is_in_recovery() \
     THEN pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) END AS segment",
    NO_HISTORY,
];

const NO_HISTORY: &str = "NULL::bigint AS system, NULL::text AS segment";

/// Asks for the server's description, and refuses servers that cannot be used in any case.
async fn greet(client: &Client) -> Result<ServerFacts, PostgresStoreError> {
    let connect = |error| PostgresStoreError::Connect(Arc::new(error));
    let mut variants = HISTORIES.iter();
    let row = loop {
        let history = variants.next().copied().unwrap_or(NO_HISTORY);
        let sql = format!(
            "SELECT pg_catalog.current_setting('server_version_num')::int AS version, \
             pg_catalog.pg_backend_pid() AS pid, NOT {HAS_SETTINGS} AS is_pooled, \
             pg_catalog.pg_is_in_recovery() AS is_standby, {history}"
        );
        match client.query_typed_one(&sql, &[]).await {
            Ok(row) => break row,
            Err(error) => match PostgresStoreError::of(error) {
                PostgresStoreError::Refused(_) if variants.len() > 0 => {}
                PostgresStoreError::Refused(error) | PostgresStoreError::Lost(error) => {
                    return Err(PostgresStoreError::Connect(error));
                }
                fault => return Err(fault),
            },
        }
    };
    let segment: Option<&str> = row.try_get("segment").map_err(connect)?;
    let timeline = segment.and_then(|name| u32::from_str_radix(name.get(..8)?, 16).ok());
    let system: Option<i64> = row.try_get("system").map_err(connect)?;
    let facts = ServerFacts {
        version: row.try_get("version").map_err(connect)?,
        pid: row.try_get("pid").map_err(connect)?,
        is_pooled: row.try_get("is_pooled").map_err(connect)?,
        is_standby: row.try_get("is_standby").map_err(connect)?,
        history: timeline.map(|timeline| ServerHistory { system: system.unwrap_or_default(), timeline }),
    };
    if facts.version < MIN_VERSION {
        let message = format!("its version is {}, but at least 14 is needed", facts.version / 10_000);
        return Err(PostgresStoreError::Unusable(StoreErrorKind::Unsupported, message));
    }
    Ok(facts)
}
