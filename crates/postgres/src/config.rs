//! The configuration of a PostgreSQL store.

use std::fmt;

use tenure_store::{StoreError, StoreErrorKind, StoreUrl, Variables};

use super::address::environment::ProcessEnvironment;
use super::address::server::ServerAddress;
use super::address::{driver, parse};
use super::endpoint::Endpoint;
use super::identifier::Identifier;

/// Configuration of a PostgreSQL store: servers, credentials and the schema of the elections.
///
/// ```
/// use tenure::store::postgres::PostgresConfig;
///
/// let config = PostgresConfig::from_url(&"postgres://app@127.0.0.1/shop".parse()?)?.schema("elections")?;
/// # Ok::<(), tenure::StoreError>(())
/// ```
#[derive(Clone)]
pub struct PostgresConfig {
    pub(super) servers: Vec<ServerAddress>,
    schema: Identifier,
    warnings: Vec<String>,
}

/// The default schema.
pub(super) const SCHEMA: &str = "tenure";

impl PostgresConfig {
    /// Reads an address, and the environment for everything it leaves out; see the [table](crate#addresses) of options
    /// and variables. Certificates and password files are read here, and not again. Unwise settings are logged as
    /// warnings.
    ///
    /// ```
    /// use tenure::store::postgres::PostgresConfig;
    ///
    /// let url = "postgres://app@db1.example,db2.example/shop?sslmode=disable".parse()?;
    /// let config = PostgresConfig::from_url(&url)?;
    /// # Ok::<(), tenure::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the address cannot be understood, or names a file that cannot be read. The message never shows a password.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::from_url_with(url, &Variables::default())
    }

    /// The same, with these variables in place of those of the environment.
    ///
    /// # Errors
    /// As [`from_url`](Self::from_url).
    pub fn from_url_with(url: &StoreUrl, variables: &Variables) -> Result<Self, StoreError> {
        let config = parse::url(url, &ProcessEnvironment { variables: variables.clone() })
            .map_err(|why| configuration(format!("the store address {url} cannot be used: {why}")))?;
        for warning in config.warnings() {
            log!(warn, place = config.place(), "{warning}");
        }
        Ok(config)
    }

    /// Uses the servers of an existing configuration of the application. Nothing else is read: neither the environment
    /// nor password files.
    ///
    /// Connections are encrypted with `tls`. Without it they are as with an [address](Self::from_url): checked with the
    /// certificates of the system, unless the server is on this machine or `ssl_mode` is `Disable`. There is no falling
    /// back to a connection that is not encrypted, so `Prefer` means the same as nothing said.
    ///
    /// ```
    /// use tenure::store::postgres::{PostgresConfig, PostgresStore};
    ///
    /// let mut driver = tokio_postgres::Config::new();
    /// driver.host("127.0.0.1").user("app").password("secret").dbname("shop");
    /// let store = PostgresStore::open(&PostgresConfig::from_driver(&driver, None)?);
    /// # Ok::<(), tenure::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When it names no host, asks for a standby, or has to be encrypted and the system has no certificates.
    pub fn from_driver(driver: &tokio_postgres::Config, tls: Option<rustls::ClientConfig>) -> Result<Self, StoreError> {
        driver::read(driver, tls, &ProcessEnvironment::default())
            .map_err(|why| configuration(format!("the configuration of the driver cannot be used: {why}")))
    }

    /// The schema in which elections are kept, `tenure` by default.
    ///
    /// # Errors
    /// When it is empty, longer than 63 bytes, or holds a NUL: PostgreSQL would cut it short without a word.
    pub fn schema(self, name: &str) -> Result<Self, StoreError> {
        let schema = Identifier::new(name).map_err(|why| configuration(format!("the schema {name:?}: {why}")))?;
        Ok(Self { schema, ..self })
    }

    /// The servers for display, without credentials.
    pub(super) fn place(&self) -> String {
        let hosts: Vec<String> = self.servers.iter().map(ServerAddress::to_string).collect();
        let config = self.servers.first().map(|server| &server.config);
        let database = config.and_then(|config| config.get_dbname().or(config.get_user())).unwrap_or_default();
        format!("{}/{database}", hosts.join(","))
    }

    /// Warnings about unwise settings.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn schema_identifier(&self) -> &Identifier {
        &self.schema
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.servers.clone(), self.place())
    }

    pub(super) fn of(servers: Vec<ServerAddress>, schema: Identifier, warnings: Vec<String>) -> Self {
        Self { servers, schema, warnings }
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
