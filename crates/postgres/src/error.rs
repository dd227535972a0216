//! Errors of PostgreSQL servers, and their messages.

use std::error::Error as _;
use std::sync::Arc;

use tenure_store::{ElectionKey, StoreError, StoreErrorKind, WriteOutcome};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::identifier::Identifier;

/// One fault of this backend. Where it happened is added when it leaves the backend.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum PostgresStoreError {
    /// There is no connection, so nothing was sent.
    #[error("cannot connect: {}", words(.0))]
    Connect(Arc<Error>),
    /// The connection broke while an answer was awaited.
    #[error("the connection was lost: {}", words(.0))]
    Lost(Arc<Error>),
    /// The server refused, and has undone the statement.
    #[error("{}", words(.0))]
    Refused(Arc<Error>),
    /// There is no usable connection, for a reason of our own.
    #[error("{1}")]
    Unusable(StoreErrorKind, String),
    /// The server refused, and there is advice on what to do.
    #[error("{1}")]
    Advised(StoreErrorKind, String),
    /// The answer does not come from the session that was asked.
    #[error("{0}")]
    Replaced(String),
    /// The row of an election is locked by another transaction.
    #[error(
        "another transaction holds a lock on this election; look for it in pg_locks, and for sessions that are idle in \
         transaction"
    )]
    Busy,
    /// The leader is a participant that cannot hand over.
    #[error("the leader is not a tenure candidate and cannot be asked to hand over; stop it instead")]
    Foreign,
    /// A row that none of our functions wrote; nothing was changed.
    #[error("{0}")]
    Damage(String),
    /// The same, where the election is known.
    #[error("{what}")]
    Damaged { election: ElectionKey, outcome: WriteOutcome, what: String },
    /// An answer that none of our functions gives.
    #[error("unexpected answer from the server: {0}")]
    Nonsense(String),
}

impl PostgresStoreError {
    /// A request that was sent has failed.
    pub(super) fn of(error: Error) -> Self {
        // A session that is ended may have committed just before; only an error that leaves the session alive is certain.
        match error.as_db_error() {
            Some(told) if !ends_session(told) => Self::Refused(Arc::new(error)),
            Some(_) | None => Self::Lost(Arc::new(error)),
        }
    }

    /// The same for an answer about this election alone, if its rows in this table are at fault.
    pub(super) fn in_record_of(self, key: &ElectionKey, table: &str) -> Self {
        let (outcome, what) = match self {
            Self::Damage(what) => (WriteOutcome::Refused, what),
            Self::Nonsense(what) => (WriteOutcome::Unknown, what),
            fault => return fault,
        };
        Self::Damaged { election: key.clone(), outcome, what: format!("in its rows of the table {table}: {what}") }
    }

    /// The public error about the server at `place`.
    pub(super) fn about(self, place: &str) -> StoreError {
        let message = format!("PostgreSQL at {place}: {self}");
        match self {
            Self::Connect(source) => StoreError::not_sent(kind(&source), message).caused_by(Cause(source)),
            Self::Lost(source) => StoreError::unknown(StoreErrorKind::Unavailable, message).caused_by(Cause(source)),
            Self::Refused(source) => StoreError::refused(kind(&source), message).caused_by(Cause(source)),
            Self::Unusable(kind, _) => StoreError::not_sent(kind, message),
            Self::Advised(kind, _) => StoreError::refused(kind, message),
            Self::Replaced(_) => StoreError::replaced(message),
            Self::Busy => StoreError::refused(StoreErrorKind::Unavailable, message),
            Self::Foreign => StoreError::refused(StoreErrorKind::Other, message),
            Self::Nonsense(_) => StoreError::unknown(StoreErrorKind::Corrupt, message),
            Self::Damage(_) => StoreError::refused(StoreErrorKind::Corrupt, message),
            Self::Damaged { election, outcome, what } => {
                StoreError::damaged(&format!("PostgreSQL at {place}"), &election, outcome, &what)
            }
        }
    }

    /// Whether a server has answered, even if with a refusal.
    pub(super) fn is_answer(&self) -> bool {
        match self {
            Self::Connect(error) | Self::Lost(error) => error.as_db_error().is_some() || lacks_password(error),
            Self::Unusable(kind, _) => *kind != StoreErrorKind::Unavailable,
            Self::Refused(_)
            | Self::Advised(..)
            | Self::Busy
            | Self::Foreign
            | Self::Replaced(_)
            | Self::Damage(_)
            | Self::Damaged { .. }
            | Self::Nonsense(_) => true,
        }
    }

    /// Adds advice, if the schema is at fault. Nothing was sent yet but the question for it.
    pub(super) fn in_schema(self, schema: &Identifier) -> Self {
        match self.advised(schema) {
            Self::Advised(kind, advice) => Self::Unusable(kind, advice),
            fault => fault,
        }
    }

    /// Adds advice, if a request failed because of the schema: rights can be revoked at any time.
    pub(super) fn advised(self, schema: &Identifier) -> Self {
        let Self::Refused(error) = &self else { return self };
        let name = schema.as_str();
        let advice = match error.code() {
            Some(&SqlState::INVALID_SCHEMA_NAME | &SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_FUNCTION) => {
                format!(
                    "there are no elections in the schema {schema}; create them with `tenure migrate`, as a user with \
                     the right to do so"
                )
            }
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => format!(
                "this user may not use the schema {schema}; have a user who can grant access run `tenure migrate --role \
                 USER`, or GRANT USAGE ON SCHEMA {schema} and EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO USER"
            ),
            _ => return self,
        };
        log!(debug, schema = name, error = %words(error), "the schema cannot be used");
        Self::Advised(kind(error), advice)
    }
}

/// The driver's error as a cause: it is shared, and the trait is not implemented for shared errors. It says what the error
/// that it caused has said already, so that nobody says it twice.
#[derive(Debug, thiserror::Error)]
#[error("{}", words(.0))]
struct Cause(Arc<Error>);

fn ends_session(told: &DbError) -> bool {
    let severity = told.severity();
    severity == "FATAL"
        || severity == "PANIC"
        || told.code().code().starts_with("57P")
        || told.code().code().starts_with("08")
}

fn kind(error: &Error) -> StoreErrorKind {
    let Some(code) = error.code() else {
        return if lacks_password(error) { StoreErrorKind::Denied } else { StoreErrorKind::Unavailable };
    };
    match code.code() {
        "25006" => StoreErrorKind::ReadOnly,
        "42501" => StoreErrorKind::Denied,
        "53100" | "54000" => StoreErrorKind::Full,
        "42P01" | "42883" | "3F000" | "42703" | "42804" => StoreErrorKind::Schema,
        "3D000" => StoreErrorKind::Missing,
        "XX001" | "XX002" => StoreErrorKind::Corrupt,
        code if code.starts_with("28") => StoreErrorKind::Denied,
        // Too many clients, locks that are waited for too long, deadlocks, a server that starts or ends: all pass.
        code if matches!(&code[..2], "08" | "40" | "53" | "55" | "57") => StoreErrorKind::Unavailable,
        _ => StoreErrorKind::Other,
    }
}

/// The driver has no other way to report that the server wants a password and none was given.
fn lacks_password(error: &Error) -> bool {
    error.source().is_some_and(|source| source.to_string() == "password missing")
}

/// The server's message with advice, or the driver's.
fn words(error: &Error) -> String {
    let Some(told) = error.as_db_error() else {
        if lacks_password(error) {
            return "the server asks for a password; give one with PGPASSWORD, PGPASSFILE or in the address".to_owned();
        }
        let found = tenure_store::with_causes(error);
        let advice = advice_on_encryption(&found);
        return found + advice;
    };
    let advice = match told.code().code() {
        "25006" => "; the database is read-only: a standby, default_transaction_read_only, or a full disk",
        "28P01" | "28000" => "; check the user, the password (PGPASSWORD, PGPASSFILE) and pg_hba.conf",
        "3D000" => "; create the database, or choose another one in the address",
        "40001" | "40P01" => "; conflict with another transaction: try again",
        "42501" => {
            "; use a role with the right to do so: `tenure migrate --role USER` grants USER the rights for elections"
        }
        "53100" => "; free space on the server's disk",
        "53300" => "; raise max_connections or close others: each process needs two connections",
        "53200" => "; raise max_locks_per_transaction, or use the lease table",
        "55P03" => {
            "; another transaction holds a lock that is needed: look for it in pg_locks, and for sessions that are idle in \
             transaction, end it, and try again"
        }
        "57014" => {
            "; the statement was cancelled, or statement_timeout of this user or database is too short: raise it"
        }
        "57P03" => "; retrying",
        "XX001" | "XX002" => "; the database is damaged: restore it from a backup",
        _ => "",
    };
    format!("{} ({}){advice}", told.message(), told.code().code())
}

/// The driver reports encryption errors only as text.
fn advice_on_encryption(found: &str) -> &'static str {
    if found.contains("does not support TLS") {
        "; turn ssl on there, or set sslmode=disable in the address if the network is trusted"
    } else if found.contains("UnknownIssuer") {
        "; give the certificate of its authority with sslrootcert"
    } else {
        ""
    }
}
