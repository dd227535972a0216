//! Opens the session for locks, or refuses it.

use std::sync::Arc;
use std::time::Duration;

use tenure_store::StoreErrorKind;
use tenure_store::clock::Clock;
use tenure_store::remote::reconnecting::{self, Reconnecting};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::Type;

use super::super::connect::Session;
use super::super::endpoint::Endpoint;
use super::super::error::PostgresStoreError;
use super::expiry;
use super::locks::{self, STRANGER};
use super::notice::channel_name;
use super::session::LockSession;

/// The server, and the session on it.
pub(super) type LockSessionConnection = Reconnecting<AdvisoryConnector>;

/// Connects to the server.
#[derive(Clone)]
pub(super) struct AdvisoryConnector {
    endpoint: Endpoint,
    clock: Clock,
}

const BEGIN: &str = include_str!("sql/begin.sql");
/// Another session that takes longer to answer is queued behind ours.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

impl AdvisoryConnector {
    pub(super) fn new(endpoint: Endpoint, clock: Clock) -> Self {
        Self { endpoint: endpoint.patient(), clock }
    }
}

impl reconnecting::Connect for AdvisoryConnector {
    type Connection = Arc<LockSession>;
    type Fault = PostgresStoreError;

    async fn connect(&self) -> Result<(Arc<str>, Arc<LockSession>), PostgresStoreError> {
        let (wire, messages) = self.endpoint.connect().await?;
        let marker = marker()?;
        begin(&wire, &marker).await?;
        if wire.facts().is_pooled {
            probe(&self.endpoint, &wire, &marker).await?;
        }
        let session = Arc::new(LockSession::new(wire, messages, marker, self.clock.clone()));
        locks::beat(&session, None).await?;
        tokio::spawn(expiry::watch(Arc::downgrade(&session)));
        Ok((Arc::clone(self.endpoint.place()), session))
    }

    /// A session that holds locks decides by itself when it has lost them, and is never retired by a request.
    async fn answers_again(&self, _session: &Arc<LockSession>) -> bool {
        false
    }

    fn is_closed(session: &Arc<LockSession>) -> bool {
        session.is_over()
    }

    fn silent() -> PostgresStoreError {
        let message = "no answer within 5 s; check the host, the port, and whether a firewall is in between";
        PostgresStoreError::Unusable(StoreErrorKind::Unavailable, message.to_owned())
    }

    fn given_up() -> PostgresStoreError {
        PostgresStoreError::Unusable(StoreErrorKind::Unavailable, "the attempt to connect was abandoned".to_owned())
    }
}

fn marker() -> Result<String, PostgresStoreError> {
    let number =
        getrandom::u64().map_err(|error| PostgresStoreError::Unusable(StoreErrorKind::Other, error.to_string()))?;
    Ok(format!("{number:016x}"))
}

/// Claims the session, and listens. A session that is already claimed was lent to us by a pooler.
async fn begin(wire: &Session, marker: &str) -> Result<(), PostgresStoreError> {
    let rows = wire.query(BEGIN, &[(&marker, Type::TEXT)]).await?;
    let is_free = rows.first().and_then(|row| row.try_get("is_free").ok());
    if is_free != Some(true) {
        return Err(pooled());
    }
    // A name of our own making: letters, digits and underscores.
    wire.run(&format!("LISTEN {}", channel_name())).await.map(drop)
}

/// Detects a pooler that lends sessions: while ours is idle, it would give it to another client.
async fn probe(endpoint: &Endpoint, wire: &Session, marker: &str) -> Result<(), PostgresStoreError> {
    let (other, _) = endpoint.connect().await?;
    let open = other.run(
        "BEGIN; SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.current_setting('tenure.session', true) AS marker",
    );
    let answer = match tokio::time::timeout(PROBE_TIMEOUT, open).await {
        Ok(Ok(answer)) => answer,
        // Some lend sessions in a way that knows no transactions, or let one wait for the end of another.
        Ok(Err(_)) | Err(_) => return Err(pooled()),
    };
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let own_pid = wire.facts().pid.to_string();
    let is_ours = row.is_none_or(|row| {
        let shown = |column: &str| row.try_get(column).ok().flatten();
        shown("pid") == Some(own_pid.as_str()) || shown("marker") == Some(marker)
    });
    if is_ours || other.facts().pid == wire.facts().pid {
        return Err(pooled());
    }
    // The other one has a session for itself until its transaction ends, so ours cannot be the same any more if it is lent.
    let still = wire.query("SELECT pg_catalog.current_setting('tenure.session', true)", &[]);
    let rows = tokio::time::timeout(PROBE_TIMEOUT, still).await.map_err(|_| pooled())??;
    let found: Option<String> = rows.first().and_then(|row| row.try_get(0).ok());
    if found.as_deref() == Some(marker) { Ok(()) } else { Err(pooled()) }
}

fn pooled() -> PostgresStoreError {
    PostgresStoreError::Unusable(StoreErrorKind::Unsupported, STRANGER.to_owned())
}
