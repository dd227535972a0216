//! Connections: how one is made, what is asked of it, and how its end is noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, poll_fn};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Row, SimpleQueryMessage};

use super::super::StoreErrorKind;
use super::error::Fault;
use super::tls::Encryption;

/// A server that can be connected to.
#[derive(Clone)]
pub(super) struct Endpoint {
    config: Config,
    encryption: Encryption,
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
    /// Held while a request is under way, where only one may be.
    turn: tokio::sync::Mutex<()>,
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
    pub(super) fn new(mut config: Config, encryption: Encryption, place: String) -> Self {
        if config.get_application_name().is_none() {
            config.application_name("tenure");
        }
        if config.get_hosts().len() > 1 {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            if config.get_connect_timeout().is_none() {
                config.connect_timeout(Duration::from_secs(2));
            }
        }
        // The same that is asked of the server, so that both ends give up on a link that is cut.
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(2))
            .keepalives_retries(3);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(11));
        }
        Self { config, encryption, place: Arc::from(place) }
    }

    /// The same, but with connections that this end never gives up by itself: whoever uses them decides when.
    pub(super) fn patient(mut self) -> Self {
        self.config.keepalives(false).tcp_user_timeout(Duration::from_secs(86_400));
        self
    }

    pub(super) fn place(&self) -> &Arc<str> {
        &self.place
    }

    /// Connects to a primary, and returns what it says without being asked, too.
    pub(super) async fn connect(&self) -> Result<(Session, Messages), Fault> {
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
        let calls = AtomicU64::new(getrandom::u64().unwrap_or_default());
        let (reader, turn) = (reader.abort_handle(), tokio::sync::Mutex::default());
        let session = Session(Arc::new(Open { client, reader, facts, calls, turn }));
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
        self.0.client.is_closed()
    }

    /// Ends it now, whoever uses it: the server hears of it as soon as it can.
    pub(super) fn close(&self) {
        self.0.reader.abort();
    }

    /// Asks in one round trip, without a prepared statement: a pooler may send the next request elsewhere. Requests that
    /// are begun together travel together, and are answered in order; behind a pooler each waits for the one before it,
    /// because some give what comes after the first answer to somebody else.
    pub(super) async fn query(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Fault> {
        let _turn = if self.0.facts.is_pooled { Some(self.0.turn.lock().await) } else { None };
        self.0.client.query_typed(sql, parameters).await.map_err(Fault::of)
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
