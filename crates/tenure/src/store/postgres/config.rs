//! What there is to say about a PostgreSQL server.

use std::fmt;

use tokio_postgres::config::Host;

use super::super::{StoreError, StoreErrorKind, StoreUrl};
use super::connect::Endpoint;
use super::identifier::Identifier;
use super::parse;
use super::tls::Encryption;

/// Where the server is, how to present oneself there, and in which schema elections are kept.
///
/// ```
/// use tenure::store::postgres::PostgresConfig;
///
/// let config = PostgresConfig::from_url(&"postgres://app@127.0.0.1/shop".parse()?)?.schema("elections")?;
/// # Ok::<(), tenure::StoreError>(())
/// ```
#[derive(Clone)]
pub struct PostgresConfig {
    driver: tokio_postgres::Config,
    encryption: Encryption,
    schema: Identifier,
}

/// Where elections are kept if nobody says otherwise.
pub(super) const SCHEMA: &str = "tenure";

impl PostgresConfig {
    /// What an address says; see the [table](crate::store::postgres#addresses) of them.
    ///
    /// # Errors
    /// When the address cannot be understood, or names a file that cannot be read. The message never shows a password.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        parse::url(url).map_err(|why| configuration(format!("the store address {url} cannot be used: {why}")))
    }

    /// The schema in which elections are kept, `tenure` by default.
    ///
    /// # Errors
    /// When it is empty, longer than 63 bytes, or holds a NUL: PostgreSQL would cut it short without a word.
    pub fn schema(self, name: &str) -> Result<Self, StoreError> {
        let schema = Identifier::new(name).map_err(|why| configuration(format!("the schema {name:?}: {why}")))?;
        Ok(Self { schema, ..self })
    }

    /// The server as people know it, without credentials.
    pub(super) fn place(&self) -> String {
        let ports = self.driver.get_ports();
        let port = |position: usize| ports.get(position).or(ports.first()).copied().unwrap_or(5432);
        let host = |(position, host): (usize, &Host)| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]:{}", port(position)),
            Host::Tcp(name) => format!("{name}:{}", port(position)),
            Host::Unix(directory) => format!("{}:{}", directory.display(), port(position)),
        };
        let hosts: Vec<String> = self.driver.get_hosts().iter().enumerate().map(host).collect();
        let database = self.driver.get_dbname().or(self.driver.get_user()).unwrap_or_default();
        format!("{}/{database}", hosts.join(","))
    }

    pub(super) fn schema_identifier(&self) -> &Identifier {
        &self.schema
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.driver.clone(), self.encryption.clone(), self.place())
    }

    pub(super) fn of(driver: tokio_postgres::Config, encryption: Encryption, schema: Identifier) -> Self {
        Self { driver, encryption, schema }
    }
}

impl fmt::Debug for PostgresConfig {
    /// Without credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("place", &self.place())
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

fn configuration(message: String) -> StoreError {
    StoreError::not_sent(StoreErrorKind::Configuration, message)
}
