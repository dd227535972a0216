//! A connection of the kind that the stores use, with nothing around it.

use std::error::Error;
use std::future::poll_fn;
use std::str::FromStr;
use std::time::Duration;

use tenure::Clock;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Statement};

use crate::handover::Contestant;
use crate::runtime::runtime;

/// One connection on a runtime of its own, as a handle of the library has.
pub(super) struct PostgresWire {
    runtime: Runtime,
    pub(super) client: Client,
}

impl PostgresWire {
    pub(super) fn open(url: &str) -> Result<Self, Box<dyn Error>> {
        let runtime = runtime()?;
        let client = runtime.block_on(connect(url))?;
        Ok(Self { runtime, client })
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        self.wait(self.client.prepare(sql))
    }

    pub(super) fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, tokio_postgres::Error> {
        self.runtime.block_on(answer)
    }
}

/// One statement again and again.
pub(super) struct Repeated {
    wire: PostgresWire,
    statement: Statement,
}

impl Repeated {
    /// A raw round trip.
    pub(super) fn round_trip(url: &str) -> Result<Self, Box<dyn Error>> {
        Self::new(url, "SELECT 1")
    }

    /// A durable write of one row.
    pub(super) fn write(url: &str) -> Result<Self, Box<dyn Error>> {
        Self::new(url, "UPDATE floor_lease SET term = term + 1 WHERE id = -1")
    }

    fn new(url: &str, sql: &str) -> Result<Self, Box<dyn Error>> {
        let wire = PostgresWire::open(url)?;
        let statement = wire.prepare(sql)?;
        Ok(Self { wire, statement })
    }
}

impl Contestant for Repeated {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        let changed = self.wire.wait(self.wire.client.execute(&self.statement, &[]))?;
        let took = Clock::boottime().now().saturating_since(began);
        if changed == 1 { Ok(took) } else { Err("there is one row".into()) }
    }
}

/// A connection that the current runtime drives.
pub(super) async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    connect_to_listen(url).await.map(|(client, _)| client)
}

/// A connection, and what it is told unasked.
pub(super) async fn connect_to_listen(
    url: &str,
) -> Result<(Client, UnboundedReceiver<AsyncMessage>), tokio_postgres::Error> {
    let (client, mut connection) = Config::from_str(&url.replacen("+advisory", "", 1))?.connect(NoTls).await?;
    let (sender, messages) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            // Somebody has to read, even if nobody wants to know.
            drop(sender.send(message));
        }
    });
    Ok((client, messages))
}
