//! From what people write to servers, keys and wishes.

use std::env;
use std::fmt;
use std::path::Path;

use percent_encoding::percent_decode_str;
use redis::{Client, ClientTlsConfig, ProtocolVersion, RedisConnectionInfo, TlsCertificates};

use super::super::{StoreError, StoreErrorKind, StoreUrl};
use super::address::{Address, Template};
use super::cluster::Cluster;
use super::deployment::Deployment;
use super::error::Fault;
use super::keys::Keys;
use super::sentinel::Sentinels;

/// Which servers, under which names, and how careful.
///
/// ```
/// use tenure::store::redis::{RedisConfig, RedisStore};
///
/// // A client that the application has already, and the names that LeaderService uses.
/// let client = redis::Client::open("redis://127.0.0.1:6379/")?;
/// let config = RedisConfig::from_client(client).prefix("app").key_pattern("{prefix}:leader:{name}");
/// let store = RedisStore::open(config)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RedisConfig {
    servers: Servers,
    prefix: String,
    key_pattern: String,
    wait_replicas: u32,
}

#[derive(Clone)]
enum Servers {
    Given(Client),
    Standalone { address: Address, template: Template },
    Sentinel { sentinels: Vec<Address>, name: String, sentinel_template: Template, template: Template },
    Cluster { seeds: Vec<Address>, template: Template },
}

const PREFIX: &str = "tenure";
const KEY_PATTERN: &str = "{prefix}:{namespace}:{name}";
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

impl RedisConfig {
    /// The server of a client that the application has already: the store connects as it would.
    #[must_use]
    pub fn from_client(client: Client) -> Self {
        Self::of(Servers::Given(client))
    }

    /// What an address says; see the [table](self#addresses) of them.
    ///
    /// # Errors
    /// When the address cannot be understood, or names a file that cannot be read. The message never shows a password.
    pub fn from_url(url: &StoreUrl) -> Result<Self, StoreError> {
        parse(url).map_err(|why| {
            StoreError::not_sent(
                StoreErrorKind::Configuration,
                format!("the store address {url} cannot be used: {why}"),
            )
        })
    }

    /// What the variables of `LeaderService` say, if there are any: `MUTEX_REDIS_HOST`, `_PORT`, `_PREFIX`,
    /// `_SENTINEL_HOST`, `_SENTINEL_PORT` and `_SENTINEL_NAME`, each falling back to the same name without `MUTEX_`.
    /// Keys are then named as `LeaderService` names them.
    ///
    /// # Errors
    /// When a port is not a number, or there are sentinels but no name to ask them for.
    pub fn from_environment() -> Result<Option<Self>, StoreError> {
        let variable = |name: &str| {
            let set = |name: String| env::var(name).ok().filter(|value| !value.is_empty());
            set(format!("MUTEX_REDIS_{name}")).or_else(|| set(format!("REDIS_{name}")))
        };
        from_variables(variable).map_err(|why| StoreError::not_sent(StoreErrorKind::Configuration, why))
    }

    /// What all keys and channels begin with, `tenure` by default.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// How the key of a lease is named: `{prefix}:{namespace}:{name}` by default. It must end with `{name}`; without
    /// `{namespace}` there is only the namespace `default`. Braces of its own are written twice.
    #[must_use]
    pub fn key_pattern(self, pattern: impl Into<String>) -> Self {
        Self { key_pattern: pattern.into(), ..self }
    }

    /// A lease counts as granted only when so many replicas have it; otherwise it is released again. 0 by default.
    #[must_use]
    pub fn wait_replicas(self, replicas: u32) -> Self {
        Self { wait_replicas: replicas, ..self }
    }

    pub(super) fn keys(&self) -> Result<Keys, StoreError> {
        Keys::new(&self.prefix, &self.key_pattern)
    }

    pub(super) fn replicas_to_wait_for(&self) -> u32 {
        self.wait_replicas
    }

    /// The servers as people know them, without credentials.
    pub(super) fn place(&self) -> String {
        let list = |addresses: &[Address]| addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(",");
        match &self.servers {
            Servers::Given(client) => super::link::address_of(client).to_string(),
            Servers::Standalone { address, .. } => address.to_string(),
            Servers::Sentinel { sentinels, name, .. } => format!("{name} (sentinels {})", list(sentinels)),
            Servers::Cluster { seeds, .. } => list(seeds),
        }
    }

    pub(super) fn deployment(&self) -> Result<Deployment, StoreError> {
        let deploy = || -> Result<Deployment, Fault> {
            Ok(match &self.servers {
                Servers::Given(client) => Deployment::standalone(client.clone()),
                Servers::Standalone { address, template } => Deployment::standalone(template.client(address)?),
                Servers::Sentinel { sentinels, name, sentinel_template, template } => {
                    let clients = sentinels.iter().map(|address| sentinel_template.client(address));
                    let clients = clients.collect::<Result<Vec<Client>, Fault>>()?;
                    Deployment::sentinel(Sentinels::new(clients, name.clone(), template.clone()))
                }
                Servers::Cluster { seeds, template } => {
                    Deployment::Cluster(Cluster::new(seeds.clone(), template.clone()))
                }
            })
        };
        deploy().map_err(|fault| fault.about(&self.place()))
    }

    fn of(servers: Servers) -> Self {
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

/// The parts of `SCHEME://USER:PASSWORD@HOST:PORT,HOST:PORT/PATH?OPTIONS`.
struct Parts<'a> {
    credentials: Option<&'a str>,
    hosts: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let (_, rest) = text.split_once("://").ok_or("two slashes follow the scheme, as in redis://HOST")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // The last @ ends the credentials, and what follows the first slash after them is the path.
        let (credentials, rest) = match rest.rsplit_once('@') {
            Some((credentials, rest)) => (Some(credentials), rest),
            None => (None, rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { credentials, hosts, path, query })
    }

    fn addresses(&self, port: u16) -> Result<Vec<Address>, String> {
        self.hosts.split(',').map(|host| address(host, port)).collect()
    }

    /// User and password, if there are any. As everywhere with Redis, a lone password has a colon before it.
    fn login(&self) -> Result<RedisConnectionInfo, String> {
        let mut login = RedisConnectionInfo::default();
        if let Some(credentials) = self.credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            if !user.is_empty() {
                login = login.set_username(decoded(user)?);
            }
            if !password.is_empty() {
                login = login.set_password(decoded(password)?);
            }
        }
        Ok(login)
    }
}

fn parse(url: &StoreUrl) -> Result<RedisConfig, String> {
    let parts = Parts::of(url.expose())?;
    let (protocol, kind) = url.scheme().split_once('+').unwrap_or((url.scheme(), ""));
    let is_encrypted = matches!(protocol, "rediss" | "valkeys");
    let mut options = Options::default();
    for option in parts.query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        options.take(name, decoded(value)?)?;
    }
    let login = parts.login()?.set_protocol(options.protocol);
    let tls = options.certificates(is_encrypted)?;
    let database = |text: &str| match text {
        "" => Ok(0),
        number => number.parse::<i64>().map_err(|_| format!("the database {number:?} is not a number")),
    };
    let servers = match kind {
        "" => {
            let [address] = <[Address; 1]>::try_from(parts.addresses(PORT)?).map_err(|_| "it names several hosts")?;
            let login = login.set_db(database(parts.path)?);
            Servers::Standalone { address, template: Template { login, tls } }
        }
        "sentinel" => {
            let (name, number) = parts.path.split_once('/').unwrap_or((parts.path, ""));
            if name.is_empty() {
                return Err("the name of the primary comes after the sentinels, as in /mymaster".to_owned());
            }
            let template = Template { login: login.set_db(database(number)?), tls: tls.clone() };
            let sentinel_template = Template { login: options.sentinel_login(), tls };
            let (sentinels, name) = (parts.addresses(SENTINEL_PORT)?, decoded(name)?);
            Servers::Sentinel { sentinels, name, sentinel_template, template }
        }
        "cluster" => {
            if !matches!(parts.path, "" | "0") {
                return Err("a cluster has only the database 0".to_owned());
            }
            Servers::Cluster { seeds: parts.addresses(PORT)?, template: Template { login, tls } }
        }
        other => return Err(format!("there is no {other:?} of Redis; use +sentinel or +cluster, or neither")),
    };
    Ok(RedisConfig {
        servers,
        prefix: options.prefix,
        key_pattern: options.key_pattern,
        wait_replicas: options.wait_replicas,
    })
}

/// What follows the question mark.
struct Options {
    prefix: String,
    key_pattern: String,
    wait_replicas: u32,
    protocol: ProtocolVersion,
    authority: Option<Vec<u8>>,
    certificate: Option<Vec<u8>>,
    private_key: Option<Vec<u8>>,
    sentinel_user: Option<String>,
    sentinel_password: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: PREFIX.to_owned(),
            key_pattern: KEY_PATTERN.to_owned(),
            wait_replicas: 0,
            protocol: ProtocolVersion::default(),
            authority: None,
            certificate: None,
            private_key: None,
            sentinel_user: None,
            sentinel_password: None,
        }
    }
}

impl Options {
    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "prefix" => self.prefix = value,
            "key_pattern" => self.key_pattern = value,
            "wait_replicas" => self.wait_replicas = value.parse().map_err(|_| "wait_replicas is a small number")?,
            "protocol" => {
                self.protocol = match value.as_str() {
                    "2" | "resp2" => ProtocolVersion::RESP2,
                    "3" | "resp3" => ProtocolVersion::RESP3,
                    _ => return Err("protocol is resp2 or resp3".to_owned()),
                }
            }
            "tls_ca" => self.authority = Some(read(&value)?),
            "tls_cert" => self.certificate = Some(read(&value)?),
            "tls_key" => self.private_key = Some(read(&value)?),
            "sentinel_user" => self.sentinel_user = Some(value),
            "sentinel_password" => self.sentinel_password = Some(value),
            other => {
                return Err(format!(
                    "there is no option {other:?}; there are prefix, key_pattern, wait_replicas, protocol, tls_ca, \
                     tls_cert, tls_key, sentinel_user and sentinel_password"
                ));
            }
        }
        Ok(())
    }

    fn certificates(&mut self, is_encrypted: bool) -> Result<Option<TlsCertificates>, String> {
        let client_tls = match (self.certificate.take(), self.private_key.take()) {
            (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig { client_cert, client_key }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err("tls_cert and tls_key belong together".to_owned()),
        };
        let certificates = TlsCertificates { client_tls, root_cert: self.authority.take() };
        let has_any = certificates.client_tls.is_some() || certificates.root_cert.is_some();
        match is_encrypted {
            true => Ok(Some(certificates)),
            // Whoever names certificates means to use them.
            false if has_any => Err("certificates need a scheme that encrypts: rediss, not redis".to_owned()),
            false => Ok(None),
        }
    }

    fn sentinel_login(&self) -> RedisConnectionInfo {
        let mut login = RedisConnectionInfo::default();
        if let Some(user) = &self.sentinel_user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.sentinel_password {
            login = login.set_password(password);
        }
        login
    }
}

fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<RedisConfig>, String> {
    let template = Template { login: RedisConnectionInfo::default(), tls: None };
    let port = |name: &str, default: u16| match variable(name) {
        Some(text) => text.parse().map_err(|_| format!("{name} of Redis is not a port: {text:?}")),
        None => Ok(default),
    };
    let servers = if let Some(host) = variable("SENTINEL_HOST") {
        let name = variable("SENTINEL_NAME").ok_or("there is a sentinel, but no REDIS_SENTINEL_NAME to ask it for")?;
        let sentinels = vec![Address { host, port: port("SENTINEL_PORT", SENTINEL_PORT)? }];
        Servers::Sentinel { sentinels, name, sentinel_template: template.clone(), template }
    } else if let Some(host) = variable("HOST") {
        Servers::Standalone { address: Address { host, port: port("PORT", PORT)? }, template }
    } else {
        return Ok(None);
    };
    let prefix = variable("PREFIX").unwrap_or_else(|| "app".to_owned());
    Ok(Some(RedisConfig::of(servers).prefix(prefix).key_pattern("{prefix}:leader:{name}")))
}

fn address(text: &str, default_port: u16) -> Result<Address, String> {
    let is_bare = !text.contains(':') || text.ends_with(']');
    let with_port = if is_bare { format!("{text}:{default_port}") } else { text.to_owned() };
    let address: Address = with_port.parse().map_err(|()| "a host is followed by a port number, as in host:6379")?;
    if address.host.is_empty() { Err("it names no host".to_owned()) } else { Ok(address) }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| "what is escaped in it is not UTF-8".to_owned())
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(Path::new(path)).map_err(|error| format!("cannot read {path}: {error}"))
}
