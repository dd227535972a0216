//! A fence around a transaction in PostgreSQL.

use tenure_store::{StoreError, StoreErrorKind, Term};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, GenericClient};

use crate::identifier::Identifier;

/// Guards a transaction in the database of the election: it fails unless its term is still the newest, and no other
/// candidate is elected until it has ended.
///
/// Call it in the transaction that writes, before it writes. Then there is no gap between the comparison and the write:
/// either the term is the newest at the commit, or nothing was written. The leader's renewals go on meanwhile; a candidate
/// that would take over waits for the commit. Outside of a transaction it compares and guards nothing.
///
/// ```no_run
/// use tenure::Leadership;
///
/// async fn pay(client: &mut tokio_postgres::Client, leadership: &Leadership) -> Result<(), Box<dyn std::error::Error>> {
///     let fence = leadership.postgres_fence();
///     let transaction = client.transaction().await?;
///     fence.check(&transaction).await?;
///     transaction.execute("INSERT INTO payouts (invoice) VALUES ($1)", &[&7_i64]).await?;
///     transaction.commit().await?;
///     Ok(())
/// }
/// ```
///
/// Other drivers send [`sql`](Self::sql) with the [election](Self::election), the [term](Self::term) and the
/// [namespace](Self::namespace) as its parameters, and find [`STALE`](Self::STALE) in the error of a term that is over.
///
/// What it does not do: a transaction that stays open keeps everybody else from being elected. So one that idles is ended
/// by the server after a minute, unless `idle_in_transaction_session_timeout` says otherwise; one that works for an hour
/// lasts an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresFence {
    election: String,
    namespace: String,
    term: Term,
    sql: String,
}

impl PostgresFence {
    /// The SQLSTATE of the error that a term gets which is not the newest.
    pub const STALE: &str = "TE001";

    /// Guards work under this term of this election, in the namespace `default` and the schema `tenure`.
    ///
    /// `Leadership::postgres_fence` fills in election, namespace, schema and term; this is for a process that was only told
    /// them, and makes the term with [`Term::new`].
    #[must_use]
    pub fn new(election: impl Into<String>, term: Term) -> Self {
        Self {
            election: election.into(),
            namespace: "default".to_owned(),
            term,
            sql: statement(&Identifier::default()),
        }
    }

    /// The namespace of the election.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    /// The schema in which elections are kept.
    ///
    /// # Errors
    /// When no schema can have this name.
    pub fn in_schema(self, schema: &str) -> Result<Self, StoreError> {
        let configuration =
            |why| StoreError::not_sent(StoreErrorKind::Configuration, format!("the schema {schema:?}: {why}"));
        Ok(Self { sql: statement(&Identifier::new(schema).map_err(configuration)?), ..self })
    }

    /// Fails the transaction unless the term is still the newest, and keeps it the newest until the transaction ends.
    ///
    /// Not cancel safe: drop the transaction, too.
    ///
    /// # Errors
    /// [`PostgresFenceError::Stale`] if the term is over: the work has to stop. Whatever it is, the server has failed the
    /// transaction, and takes nothing more in it.
    pub async fn check(&self, transaction: &impl GenericClient) -> Result<(), PostgresFenceError> {
        let term = self.term();
        let answer = transaction
            .query_typed(&self.sql, &[(&self.election, Type::TEXT), (&term, Type::INT8), (&self.namespace, Type::TEXT)])
            .await;
        match answer {
            Ok(_) => Ok(()),
            Err(error) => match error.as_db_error() {
                Some(told) if told.code().code() == Self::STALE => {
                    Err(PostgresFenceError::Stale(told.message().to_owned()))
                }
                _ => Err(PostgresFenceError::Failed(error)),
            },
        }
    }

    /// The statement to send in the transaction. Its parameters are the election, the term and the namespace, in this
    /// order.
    #[must_use]
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The first parameter.
    #[must_use]
    pub fn election(&self) -> &str {
        &self.election
    }

    /// The second parameter, as the number that the server takes.
    #[must_use]
    pub fn term(&self) -> i64 {
        i64::try_from(self.term.get()).unwrap_or(i64::MAX)
    }

    /// The third parameter.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }
}

/// Why a fence did not let a transaction go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresFenceError {
    /// The term is over. A newer one must not be fetched to try again: the term belongs to the work.
    #[error("{0}")]
    Stale(String),
    /// The server could not be asked, or has no such fence. Nothing is known of the term.
    #[error("cannot check the term on the server")]
    Failed(#[source] Error),
}

impl PostgresFenceError {
    /// Whether the term is over, so that the work has to stop.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale(_))
    }
}

fn statement(schema: &Identifier) -> String {
    format!("SELECT {schema}.fence($1, $2, $3)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_or_parameters() {
        let fence = PostgresFence::new("x'; DROP", Term::new(7).unwrap()).in_namespace("shop");
        assert_eq!(fence.sql(), "SELECT \"tenure\".fence($1, $2, $3)");
        assert_eq!((fence.election(), fence.term(), fence.namespace()), ("x'; DROP", 7, "shop"));
        let elsewhere = fence.clone().in_schema("a \"b\"").unwrap();
        assert_eq!(elsewhere.sql(), "SELECT \"a \"\"b\"\"\".fence($1, $2, $3)");
        assert!(fence.in_schema(&"x".repeat(64)).is_err());
    }
}
