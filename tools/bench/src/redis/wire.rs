//! A connection of the kind that the store uses, with nothing around it.

use std::error::Error;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisResult, ScriptInvocation};
use tokio::runtime::Runtime;

use crate::handover::Contestant;
use crate::runtime::runtime;
use tenure::Clock;

/// One connection on a runtime of its own, as a handle of the library has.
pub(super) struct RedisWire {
    runtime: Runtime,
    connection: MultiplexedConnection,
}

impl RedisWire {
    pub(super) fn open(url: &str) -> Result<Self, Box<dyn Error>> {
        let runtime = runtime()?;
        let connection = runtime.block_on(connect(&Client::open(url)?))?;
        Ok(Self { runtime, connection })
    }

    pub(super) fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<T> {
        self.runtime.block_on(command.query_async(&mut self.connection))
    }

    pub(super) fn ask_all<T: FromRedisValue>(&mut self, commands: &Pipeline) -> RedisResult<T> {
        self.runtime.block_on(commands.query_async(&mut self.connection))
    }

    pub(super) fn invoke<T: FromRedisValue>(&mut self, script: &ScriptInvocation<'_>) -> RedisResult<T> {
        self.runtime.block_on(script.invoke_async(&mut self.connection))
    }
}

/// A raw round trip.
pub(super) struct Ping(pub(super) RedisWire);

impl Contestant for Ping {
    fn once(&mut self) -> Result<Duration, Box<dyn Error>> {
        let began = Clock::boottime().now();
        self.0.ask::<String>(&redis::cmd("PING"))?;
        Ok(Clock::boottime().now().saturating_since(began))
    }
}

/// Without a limit on how long an answer may take, as in the store.
pub(super) async fn connect(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}
