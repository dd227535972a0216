//! Parses addresses and variables into servers, keys and options.

use std::fmt;

use redis::{Client, RedisConnectionInfo};
use tenure_store::{StoreError, StoreErrorKind, StoreUrl, Variables};

use super::address::{HostPort, ServerTemplate};
use super::cluster::Cluster;
use super::deployment::Deployment;
use super::error::RedisStoreError;
use super::keys::Keys;
use super::parse::{self, SENTINEL_PORT, SERVER_PORT};
use super::sentinel::Sentinels;

/// Configuration of a [`RedisStore`](crate::RedisStore): servers, key names and safety options.
///
/// ```
/// use tenure::store::redis::{RedisConfig, RedisStore};
///
/// // A client that the application has already, and the names that LeaderService uses.
/// let client = redis::Client::open("redis://127.0.0.1:6379/")?;
/// let config = RedisConfig::from_client(client).prefix("app").key_pattern("{prefix}:leader:{name}");
/// let store = RedisStore::open(&config)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RedisConfig {
    servers: Servers,
    prefix: String,
    key_pattern: String,
    wait_replicas: u32,
}

/// The servers, and the credentials for them.
#[derive(Clone)]
pub(super) enum Servers {
    Given(Client),
    Standalone { address: HostPort, template: ServerTemplate },
    Sentinel { sentinels: Vec<HostPort>, name: String, sentinel_template: ServerTemplate, template: ServerTemplate },
    Cluster { seeds: Vec<HostPort>, template: ServerTemplate },
}

const PREFIX: &str = "tenure";
const KEY_PATTERN: &str = "{prefix}:{namespace}:{name}";
/// The key names of `LeaderService`.
const FOREIGN_KEY_PATTERN: &str = "{prefix}:leader:{name}";

impl RedisConfig {
    /// Uses the server of an existing client of the application, with the same settings.
    #[must_use]
    pub fn from_client(client: Client) -> Self {
        Self::of(Servers::Given(client))
    }

    /// What an address says; see the [table](crate#addresses) of them.
    ///
    /// # Errors
    /// When the address cannot be understood, or names a file that cannot be read. The message never shows a password.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        parse::url(url).map_err(|why| {
            StoreError::not_sent(
                StoreErrorKind::Configuration,
                format!("the store address {url} cannot be used: {why}"),
            )
        })
    }

    /// What the variables of `LeaderService` say, if there are any: `MUTEX_REDIS_HOST`, `_PORT`, `_PREFIX`,
    /// `_SENTINEL_HOST`, `_SENTINEL_PORT` and `_SENTINEL_NAME`, each falling back to the same name without `MUTEX_`;
    /// `_USERNAME` and `_PASSWORD`, too, which `LeaderService` does not know. Keys are then named as `LeaderService` names
    /// them. The address `env:` means the same.
    ///
    /// # Errors
    /// When a port is not a number, there are sentinels but no name to ask them for, or there is no prefix: a `LeaderService`
    /// without one takes the `name` of its `package.json`, which nobody else can know.
    pub fn from_environment() -> Result<Option<Self>, StoreError> {
        Self::from_environment_with(&Variables::default())
    }

    /// The same, with these variables in place of those of the environment.
    ///
    /// # Errors
    /// As [`from_environment`](Self::from_environment).
    pub fn from_environment_with(variables: &Variables) -> Result<Option<Self>, StoreError> {
        let variable = |name: &str| {
            variables.get(&format!("MUTEX_REDIS_{name}")).or_else(|| variables.get(&format!("REDIS_{name}")))
        };
        from_variables(variable).map_err(|why| StoreError::not_sent(StoreErrorKind::Configuration, why))
    }

    /// What all keys and channels begin with, `tenure` by default.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// Sets the pattern of lease keys: `{prefix}:{namespace}:{name}` by default. It must end with `{name}`; without
    /// `{namespace}` only the namespace `default` can be used. Literal braces must be doubled.
    #[must_use]
    pub fn key_pattern(self, pattern: impl Into<String>) -> Self {
        Self { key_pattern: pattern.into(), ..self }
    }

    /// Requires this many replicas to confirm a lease; otherwise it is given back. 0 by default.
    #[must_use]
    pub fn wait_replicas(self, replicas: u32) -> Self {
        Self { wait_replicas: replicas, ..self }
    }

    pub(super) fn keys(&self) -> Result<Keys, StoreError> {
        Ok(Keys::new(&self.prefix, &self.key_pattern)?.in_database(self.database()))
    }

    fn database(&self) -> i64 {
        match &self.servers {
            Servers::Given(client) => client.get_connection_info().redis_settings().db(),
            Servers::Standalone { template, .. }
            | Servers::Sentinel { template, .. }
            | Servers::Cluster { template, .. } => template.login.db(),
        }
    }

    pub(super) fn replicas_to_wait_for(&self) -> u32 {
        self.wait_replicas
    }

    /// The servers for display, without credentials.
    pub(super) fn place(&self) -> String {
        let list = |addresses: &[HostPort]| addresses.iter().map(HostPort::to_string).collect::<Vec<_>>().join(",");
        match &self.servers {
            Servers::Given(client) => super::connector::address_of(client).to_string(),
            Servers::Standalone { address, .. } => address.to_string(),
            Servers::Sentinel { sentinels, name, .. } => format!("{name} (sentinels {})", list(sentinels)),
            Servers::Cluster { seeds, .. } => list(seeds),
        }
    }

    pub(super) fn deployment(&self) -> Result<Deployment, StoreError> {
        let deploy = || -> Result<Deployment, RedisStoreError> {
            Ok(match &self.servers {
                Servers::Given(client) => Deployment::standalone(client.clone()),
                Servers::Standalone { address, template } => Deployment::standalone(template.client(address)?),
                Servers::Sentinel { sentinels, name, sentinel_template, template } => {
                    let clients = sentinels.iter().map(|address| sentinel_template.client(address));
                    let clients = clients.collect::<Result<Vec<Client>, RedisStoreError>>()?;
                    Deployment::sentinel(Sentinels::new(clients, name.clone(), template.clone()))
                }
                Servers::Cluster { seeds, template } => {
                    Deployment::Cluster(Box::new(Cluster::new(seeds.clone(), template.clone())))
                }
            })
        };
        deploy().map_err(|fault| fault.about(&self.place()))
    }

    pub(super) fn of(servers: Servers) -> Self {
        Self { servers, prefix: PREFIX.to_owned(), key_pattern: KEY_PATTERN.to_owned(), wait_replicas: 0 }
    }
}

impl fmt::Debug for RedisConfig {
    /// Without credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("place", &self.place())
            .field("prefix", &self.prefix)
            .field("key_pattern", &self.key_pattern)
            .field("wait_replicas", &self.wait_replicas)
            .finish_non_exhaustive()
    }
}

fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<RedisConfig>, String> {
    let login = RedisConnectionInfo::default();
    // LeaderService knows no password, but its server may want one.
    let login = variable("USERNAME").into_iter().fold(login, RedisConnectionInfo::set_username);
    let login = variable("PASSWORD").into_iter().fold(login, RedisConnectionInfo::set_password);
    let template = ServerTemplate { login, tls: None };
    let sentinel_template = ServerTemplate { login: RedisConnectionInfo::default(), tls: None };
    let port = |name: &str, default: u16| match variable(name) {
        Some(text) => text.parse().map_err(|_| format!("{name} of Redis is not a port: {text:?}")),
        None => Ok(default),
    };
    let servers = if let Some(host) = variable("SENTINEL_HOST") {
        let name = variable("SENTINEL_NAME")
            .ok_or("a sentinel is set, but REDIS_SENTINEL_NAME, the name of its primary, is not")?;
        let sentinels = vec![HostPort { host, port: port("SENTINEL_PORT", SENTINEL_PORT)? }];
        Servers::Sentinel { sentinels, name, sentinel_template, template }
    } else if let Some(host) = variable("HOST") {
        Servers::Standalone { address: HostPort { host, port: port("PORT", SERVER_PORT)? }, template }
    } else {
        return Ok(None);
    };
    let prefix = variable("PREFIX").ok_or(
        "the environment names a Redis server, but neither MUTEX_REDIS_PREFIX nor REDIS_PREFIX is set; without them \
         LeaderService starts its keys with the name in its package.json, and would use other keys. Set one of the \
         two to that name, or to app, its default",
    )?;
    Ok(Some(RedisConfig::of(servers).prefix(prefix).key_pattern(FOREIGN_KEY_PATTERN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<RedisConfig>, String> {
        from_variables(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn variables_of_others_are_understood() {
        assert!(read(&[]).unwrap().is_none());
        let config = read(&[("HOST", "db"), ("PORT", "7000"), ("PREFIX", "shop")]).unwrap().unwrap();
        assert_eq!((config.place(), config.prefix.as_str()), ("db:7000".to_owned(), "shop"));
        assert_eq!(config.key_pattern, "{prefix}:leader:{name}");
        let config = read(&[("HOST", "db"), ("PREFIX", "app")]).unwrap().unwrap();
        assert_eq!((config.place(), config.prefix.as_str()), ("db:6379".to_owned(), "app"));
        let sentinel = [("SENTINEL_HOST", "watch"), ("SENTINEL_NAME", "main"), ("HOST", "db"), ("PREFIX", "app")];
        assert_eq!(read(&sentinel).unwrap().unwrap().place(), "main (sentinels watch:26379)");
    }

    #[test]
    fn variables_that_make_no_sense_are_told() {
        assert!(read(&[("HOST", "db"), ("PORT", "x")]).unwrap_err().contains("PORT"));
        assert!(read(&[("SENTINEL_HOST", "watch")]).unwrap_err().contains("SENTINEL_NAME"));
        // It would be taken from a file that only the other program has.
        assert!(read(&[("HOST", "db")]).unwrap_err().contains("the name in its package.json"));
    }
}
