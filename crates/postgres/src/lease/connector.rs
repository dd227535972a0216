//! The connection for requests.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::poll_fn;
use tenure_store::StoreErrorKind;
use tenure_store::remote::reconnecting::{self, Reconnecting};
use tokio_postgres::Row;

use super::super::connect::{Parameters, Session};
use super::super::endpoint::Endpoint;
use super::super::error::PostgresStoreError;
use super::super::identifier::Identifier;
use super::schema;

/// The server, and the connection to it.
pub(super) type LeaseConnection = Reconnecting<LeaseConnector>;

/// Connects to the server.
#[derive(Clone)]
pub(super) struct LeaseConnector {
    endpoint: Endpoint,
    schema: Identifier,
}

impl LeaseConnector {
    pub(super) fn new(endpoint: Endpoint, schema: Identifier) -> Self {
        Self { endpoint, schema }
    }
}

impl reconnecting::Connect for LeaseConnector {
    type Connection = Session;
    type Fault = PostgresStoreError;

    async fn connect(&self) -> Result<(Arc<str>, Session), PostgresStoreError> {
        let (session, _) = self.endpoint.connect().await?;
        let found = schema_version(&session, &self.schema).await.map_err(|fault| fault.in_schema(&self.schema))?;
        let message = match found.cmp(&schema::VERSION) {
            std::cmp::Ordering::Equal => return Ok((Arc::clone(self.endpoint.place()), session)),
            std::cmp::Ordering::Less => format!(
                "the schema {} has version {found}, but {} is needed; run `tenure migrate`",
                self.schema,
                schema::VERSION
            ),
            std::cmp::Ordering::Greater => format!(
                "the schema {} was created by a newer version of tenure ({found}; this one knows {}); upgrade this program",
                self.schema,
                schema::VERSION
            ),
        };
        Err(PostgresStoreError::Unusable(StoreErrorKind::Schema, message))
    }

    async fn answers_again(&self, session: &Session) -> bool {
        // Of several servers another one may be the primary by now, and a pooler may have given the server to others.
        let is_alone = self.endpoint.is_alone() && !session.facts().is_pooled;
        is_alone && session.call("SELECT {call}", &[]).await.is_ok_and(|rows| rows.len() == 1)
    }

    fn is_closed(session: &Session) -> bool {
        session.is_closed()
    }

    fn silent() -> PostgresStoreError {
        let message = "no answer within 5 s; check the host, the port, and whether a firewall is in between";
        PostgresStoreError::Unusable(StoreErrorKind::Unavailable, message.to_owned())
    }

    fn given_up() -> PostgresStoreError {
        PostgresStoreError::Unusable(StoreErrorKind::Unavailable, "the attempt to connect was abandoned".to_owned())
    }
}

/// Asks in one round trip. Without an answer, the connection is dropped: the next request would wait behind it.
pub(super) async fn ask(
    node: &LeaseConnection,
    sql: &str,
    parameters: &Parameters<'_>,
) -> Result<Vec<Row>, PostgresStoreError> {
    let link = node.link().await?;
    let unanswered = node.unanswered(&link);
    let answer = link.connection().call(sql, parameters).await;
    if is_answer(&answer) {
        unanswered.answered();
    } else {
        unanswered.failed();
    }
    answer
}

/// The same as [`ask`], followed by a second statement whose answer is not awaited.
pub(super) async fn ask_and_mention(
    node: &LeaseConnection,
    sql: &str,
    parameters: &Parameters<'_>,
    mention: &str,
    mentioned: &Parameters<'_>,
) -> Result<Vec<Row>, PostgresStoreError> {
    let link = node.link().await?;
    let unanswered = node.unanswered(&link);
    let mut asked = pin!(link.connection().call(sql, parameters));
    let mut behind = pin!(link.connection().query(mention, mentioned));
    let mut is_sent = false;
    let answer = poll_fn(|context| {
        let answer = asked.as_mut().poll(context);
        if !is_sent {
            // Polled once, it is on its way.
            is_sent = true;
            let _ = behind.as_mut().poll(context);
        }
        answer
    })
    .await;
    if is_answer(&answer) {
        unanswered.answered();
        if link.connection().facts().is_pooled {
            // It had to wait for its turn.
            let _ = tokio::time::timeout(MENTION_TIMEOUT, behind).await;
        }
    } else {
        unanswered.failed();
    }
    answer
}

/// A statement that is not awaited must not delay others for long.
const MENTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether the connection can still be used.
fn is_answer(answer: &Result<Vec<Row>, PostgresStoreError>) -> bool {
    !matches!(answer, Err(PostgresStoreError::Lost(_) | PostgresStoreError::Nonsense(_)))
}

async fn schema_version(session: &Session, schema: &Identifier) -> Result<i32, PostgresStoreError> {
    let rows = session.query(&format!("SELECT {schema}.schema_version()"), &[]).await?;
    let version = rows.first().and_then(|row| row.try_get(0).ok());
    version.ok_or_else(|| PostgresStoreError::Nonsense("no version of its schema".to_owned()))
}
