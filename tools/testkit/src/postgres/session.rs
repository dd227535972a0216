//! A connection of the kit's own, for code that is not asynchronous.

use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::PATIENCE;

/// What a statement returns: rows of values, as text.
pub type Rows = Vec<Vec<Option<String>>>;

/// Why a server did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// It refused, or the connection is broken.
    #[error("{}", .0.as_db_error().map_or_else(|| .0.to_string(), ToString::to_string))]
    Refused(#[from] tokio_postgres::Error),
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
}

impl SqlError {
    /// The code that the server gave, such as `23505`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => error.code().map(tokio_postgres::error::SqlState::code),
            Self::Silent(_) => None,
        }
    }
}

/// A connection that stays open, with all that hangs on it: a transaction, locks, settings. It blocks its thread while the
/// server works, and can be used inside of asynchronous tests all the same.
pub struct SqlSession {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    patience: Duration,
}

impl SqlSession {
    /// Connects to this address, as `postgres://…`, without encryption.
    ///
    /// # Errors
    /// The server refused, or did not answer in time.
    pub fn open(url: &str) -> Result<Self, SqlError> {
        Self::with(&url.parse()?, PATIENCE)
    }

    pub(super) fn with(config: &Config, patience: Duration) -> Result<Self, SqlError> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connect = async {
            let (client, connection) = config.connect(NoTls).await?;
            // How it ends is told to whoever asks through the client.
            tokio::spawn(async { drop(connection.await) });
            Ok(client)
        };
        match wait(&runtime, patience, connect) {
            Ok(client) => Ok(Self { runtime: Some(runtime), client, patience }),
            Err(error) => {
                // In an asynchronous test nobody may wait for the end of a runtime.
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// Changes how long it waits for an answer. Without this it is [`PATIENCE`].
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs statements, and returns the rows of all of them.
    ///
    /// # Errors
    /// The server refused, or did not answer in time.
    pub fn run(&mut self, sql: &str) -> Result<Rows, SqlError> {
        let messages = self.wait(self.client.simple_query(sql))?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        Ok(rows.map(|row| (0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect()).collect())
    }

    /// Runs a statement that cannot have parameters. The server puts them in, as its function `format` does: `%I` for a
    /// name, `%L` for a text.
    pub(super) fn run_formatted(&mut self, format: &str, words: &[&str]) -> Result<Rows, SqlError> {
        let statement = "SELECT format($1::text, VARIADIC $2::text[])";
        let row = self.wait(self.client.query_one(statement, &[&format, &words]))?;
        let statement: String = row.get(0);
        self.run(&statement)
    }

    fn wait<T: Send>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
    ) -> Result<T, SqlError> {
        wait(self.runtime.as_ref().unwrap(), self.patience, answer)
    }
}

impl Drop for SqlSession {
    fn drop(&mut self) {
        // In an asynchronous test nobody may wait for the end of a runtime.
        self.runtime.take().unwrap().shutdown_background();
    }
}

/// Waits in a thread of its own, since a thread can be in one runtime only.
fn wait<T: Send>(
    runtime: &Runtime,
    patience: Duration,
    answer: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
) -> Result<T, SqlError> {
    let wait = async { timeout(patience, answer).await.map_err(|_| SqlError::Silent(patience))?.map_err(Into::into) };
    thread::scope(|scope| scope.spawn(|| runtime.block_on(wait)).join().unwrap())
}
