//! One server, and the single connection to it that all commands share.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, Value};
use tenure_store::remote::reconnecting::{self, CONNECT_TIMEOUT, Reconnecting};

use super::error::RedisStoreError;
use super::sentinel::Sentinels;

/// A connection to one server.
pub(super) type RedisConnection = Reconnecting<RedisConnector>;
/// A connection that works, as far as known.
pub(super) type RedisLiveConnection = reconnecting::LiveConnection<RedisConnector>;

/// The target of the connection.
#[derive(Clone)]
pub(super) enum RedisConnector {
    /// Always the same address, resolved anew each time.
    Fixed(Arc<Client>),
    /// The primary named by the sentinels.
    Sentinels(Arc<Sentinels>),
}

const SILENT: &str = "no answer within 5 s; check the host, the port, and whether the server speaks TLS";

/// Sends these commands in one go, and waits for as many answers. Errors of the server count as answers.
pub(super) async fn send_all(
    node: &RedisConnection,
    link: &RedisLiveConnection,
    commands: Vec<Cmd>,
) -> Result<Vec<Value>, RedisStoreError> {
    let count = commands.len();
    let mut pipeline = Pipeline::with_capacity(count);
    for command in commands {
        pipeline.add_command(command);
    }
    let unanswered = node.unanswered(link);
    let answers = link.connection().clone().send_packed_commands(&pipeline, 0, count).await;
    match answers {
        Ok(answers) if answers.len() == count => {
            unanswered.answered();
            Ok(answers)
        }
        Ok(answers) => {
            unanswered.failed();
            Err(RedisStoreError::Nonsense(format!("{} times to {count} commands", answers.len())))
        }
        Err(error) => {
            unanswered.failed();
            Err(RedisStoreError::Lost(Arc::new(error)))
        }
    }
}

impl reconnecting::Connect for RedisConnector {
    type Connection = MultiplexedConnection;
    type Fault = RedisStoreError;

    async fn connect(&self) -> Result<(Arc<str>, MultiplexedConnection), RedisStoreError> {
        match self {
            Self::Fixed(client) => Ok((address_of(client), connect(client).await?)),
            Self::Sentinels(sentinels) => {
                let client = sentinels.primary().await?;
                let mut connection = connect(&client).await?;
                let role = redis::cmd("ROLE").query_async(&mut connection).await;
                let role: Vec<Value> = role.map_err(|error| RedisStoreError::Connect(Arc::new(error)))?;
                if role.first() != Some(&Value::BulkString(b"master".to_vec())) {
                    let message = format!("the sentinels name {}, which is not a primary (yet)", address_of(&client));
                    return Err(RedisStoreError::NoPrimary(message));
                }
                Ok((address_of(&client), connection))
            }
        }
    }

    async fn answers_again(&self, connection: &MultiplexedConnection) -> bool {
        let (Self::Fixed(_), Ok(token)) = (self, getrandom::u64()) else {
            // The sentinels may name another server by now.
            return false;
        };
        // Answers carry no number: only one that nobody else can get shows that none was lost or doubled.
        let token = format!("{token:016x}");
        let echo = redis::cmd("PING").arg(&token).query_async::<String>(&mut connection.clone()).await;
        echo.is_ok_and(|echo| echo == token)
    }

    /// The client does not report it: the next request finds out.
    fn is_closed(_connection: &MultiplexedConnection) -> bool {
        false
    }

    fn silent() -> RedisStoreError {
        RedisStoreError::NoPrimary(SILENT.to_owned())
    }

    fn given_up() -> RedisStoreError {
        RedisStoreError::NoPrimary("the attempt to connect was abandoned".to_owned())
    }
}

/// The host and port of a server, the only parts of its address that are ever shown.
pub(super) fn address_of(client: &Client) -> Arc<str> {
    Arc::from(client.get_connection_info().addr().to_string())
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, RedisStoreError> {
    // How long an answer may take is decided by whoever asks.
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT_TIMEOUT)).set_response_timeout(None);
    let connect = async {
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if client.get_connection_info().redis_settings().password().is_none() {
            expect_welcome(&mut connection).await?;
        }
        Ok(connection)
    };
    connect.await.map_err(|error| RedisStoreError::Connect(Arc::new(error)))
}

/// Finds out whether the server wants a password. From clients that have not given it, it takes short commands only: it hangs
/// up on all others without saying why.
async fn expect_welcome(connection: &mut MultiplexedConnection) -> redis::RedisResult<()> {
    match redis::cmd("PING").query_async::<Value>(connection).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_connection_dropped() || error.code() == Some("NOAUTH") => Err(error),
        // Whatever else it has to say, it will say again.
        Err(_) => Ok(()),
    }
}
