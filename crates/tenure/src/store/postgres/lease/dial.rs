//! The connection for requests.

use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};

use futures_util::future::poll_fn;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::super::connect::{Endpoint, Session};
use super::super::error::Fault;
use super::super::identifier::Identifier;
use super::schema;
use crate::store::StoreErrorKind;
use crate::store::remote::keeper::{self, Keeper};

/// The server, and the connection to it.
pub(super) type Node = Keeper<Dial>;

/// How to connect to it.
#[derive(Clone)]
pub(super) struct Dial {
    endpoint: Endpoint,
    schema: Identifier,
}

impl Dial {
    pub(super) fn new(endpoint: Endpoint, schema: Identifier) -> Self {
        Self { endpoint, schema }
    }
}

impl keeper::Dial for Dial {
    type Connection = Session;
    type Fault = Fault;

    async fn connect(&self) -> Result<(Arc<str>, Session), Fault> {
        let (session, _) = self.endpoint.connect().await?;
        let found = schema_version(&session, &self.schema).await.map_err(|fault| fault.in_schema(&self.schema))?;
        let message = match found.cmp(&schema::VERSION) {
            std::cmp::Ordering::Equal => return Ok((Arc::clone(self.endpoint.place()), session)),
            std::cmp::Ordering::Less => format!(
                "the schema {} has version {found}, and {} is needed; run `tenure migrate`",
                self.schema,
                schema::VERSION
            ),
            std::cmp::Ordering::Greater => format!(
                "the schema {} was made by a newer version of tenure ({found}, and this one knows {}); use that one",
                self.schema,
                schema::VERSION
            ),
        };
        Err(Fault::Unusable(StoreErrorKind::Schema, message))
    }

    fn is_closed(session: &Session) -> bool {
        session.is_closed()
    }

    fn silent() -> Fault {
        let message = "no answer within 5 s; check the host, the port, and whether a firewall is in between";
        Fault::Unusable(StoreErrorKind::Unavailable, message.to_owned())
    }

    fn given_up() -> Fault {
        Fault::Unusable(StoreErrorKind::Unavailable, "the attempt to connect was given up".to_owned())
    }
}

impl Node {
    /// Asks in one round trip. If it is not answered, the connection is given up: the next request would wait behind it.
    pub(super) async fn ask(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>, Fault> {
        self.exchange(sql, parameters, |_| true).await
    }

    /// The same for what decides who leads. Answers do not say what they answer, and what stands in between may repeat one,
    /// or mistake one for another. So this statement has one more parameter, which is in the column `question` of its answer.
    pub(super) async fn ask_by_number(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Fault> {
        // From anywhere on, since what stands in between may serve other processes, too.
        static QUESTIONS: LazyLock<AtomicI64> =
            LazyLock::new(|| AtomicI64::new(getrandom::u64().map_or(0, |number| (number >> 1).cast_signed())));
        let question = QUESTIONS.fetch_add(1, Ordering::Relaxed);
        let mut parameters = parameters.to_vec();
        parameters.push((&question, Type::INT8));
        self.exchange(sql, &parameters, |row| row.try_get("question").is_ok_and(|answered: i64| answered == question))
            .await
    }

    async fn exchange(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
        is_meant: impl Fn(&Row) -> bool,
    ) -> Result<Vec<Row>, Fault> {
        let link = self.link().await?;
        let unanswered = self.unanswered(&link);
        let rows = match link.connection().query(sql, parameters).await {
            Ok(rows) if rows.iter().all(is_meant) => Ok(rows),
            Ok(_) => return Err(Fault::Nonsense("another question".to_owned())),
            Err(fault @ Fault::Lost(_)) => return Err(fault),
            Err(fault) => Err(fault),
        };
        unanswered.answered();
        rows
    }

    /// The same as [`ask`](Self::ask), with a second statement right behind the first whose answer nobody waits for.
    pub(super) async fn ask_and_mention(
        &self,
        sql: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
        mention: &str,
        mentioned: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Fault> {
        let link = self.link().await?;
        if link.connection().facts().is_pooled {
            // There one waits for each answer.
            let answer = self.ask(sql, parameters).await?;
            let _ = self.ask(mention, mentioned).await;
            return Ok(answer);
        }
        let unanswered = self.unanswered(&link);
        let mut asked = pin!(link.connection().query(sql, parameters));
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
        if !matches!(answer, Err(Fault::Lost(_))) {
            unanswered.answered();
        }
        answer
    }
}

async fn schema_version(session: &Session, schema: &Identifier) -> Result<i32, Fault> {
    let rows = session.query(&format!("SELECT {schema}.schema_version()"), &[]).await?;
    let version = rows.first().and_then(|row| row.try_get(0).ok());
    version.ok_or_else(|| Fault::Nonsense("no version of its schema".to_owned()))
}
