//! PostgreSQL servers that tests start for themselves: one alone, one with a standby, one behind PgBouncer.

mod account;
mod bouncer;
mod database;
mod framing;
mod options;
mod processes;
mod programs;
mod server;
mod session;
mod standby;
mod template;

pub use self::bouncer::{PgBouncer, PoolMode};
pub use self::database::PostgresDatabase;
pub use self::framing::message_length;
pub use self::options::PostgresOptions;
pub use self::processes::PausedServer;
pub use self::server::{PostgresServer, StopMode};
pub use self::session::{Rows, SqlError, SqlSession};
pub use self::standby::Standby;
pub use crate::certificates::TlsClients;

/// The role that every server has: it can log in, and owns what tests use.
pub const ROLE: &str = "tenure";

/// Its password.
pub const PASSWORD: &str = "tenure-password";

/// The role that candidates log in as. It owns nothing, and may do what it was granted. A server has it if its options say
/// so.
pub const APP: &str = "app";

/// Its password.
pub const APP_PASSWORD: &str = "app-password";
