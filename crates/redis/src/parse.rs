//! Parses an address into a configuration.

use std::path::Path;

use redis::{ProtocolVersion, RedisConnectionInfo};
use tenure_store::StoreUrl;
use tenure_store::remote::cryptography::read_file;
use tenure_store::remote::raw_url::{RawUrl, decoded};

use super::address::{HostPort, ServerTemplate};
use super::config::{RedisConfig, Servers};
use super::tls::{self, CertificateBundle};

/// The default port of servers.
pub(super) const SERVER_PORT: u16 = 6379;
/// The default port of sentinels.
pub(super) const SENTINEL_PORT: u16 = 26379;

/// Parses an address; errors describe the mistake without showing the address.
pub(super) fn url(url: &StoreUrl) -> Result<RedisConfig, String> {
    let raw_url = RawUrl::of(url)?;
    let (protocol, kind) = url.scheme().split_once('+').unwrap_or((url.scheme(), ""));
    let is_encrypted = matches!(protocol, "rediss" | "valkeys");
    tls::check(is_encrypted, tls::IS_BUILT_IN)?;
    let mut options = UrlOptions::default();
    for (name, value) in raw_url.options() {
        options.take(name, decoded(value)?)?;
    }
    let login = login(&raw_url)?.set_protocol(options.protocol);
    let tls = options.certificates(is_encrypted)?;
    let database = |text: &str| match text {
        "" => Ok(0),
        number => {
            number.parse::<i64>().map_err(|_| "the part after the host must be the number of a database".to_owned())
        }
    };
    let servers = match kind {
        "" => {
            let [address] = <[HostPort; 1]>::try_from(addresses(raw_url.hosts, SERVER_PORT)?)
                .map_err(|_| "it names several hosts")?;
            let login = login.set_db(database(raw_url.path)?);
            Servers::Standalone { address, template: ServerTemplate { login, tls } }
        }
        "sentinel" => {
            let (name, number) = raw_url.path.split_once('/').unwrap_or((raw_url.path, ""));
            if name.is_empty() {
                return Err("the name of the primary must follow the sentinels, as in /mymaster".to_owned());
            }
            let template = ServerTemplate { login: login.set_db(database(number)?), tls: tls.clone() };
            let sentinel_template = ServerTemplate { login: options.sentinel_login(), tls };
            let (sentinels, name) = (addresses(raw_url.hosts, SENTINEL_PORT)?, decoded(name)?);
            Servers::Sentinel { sentinels, name, sentinel_template, template }
        }
        "cluster" => {
            if !matches!(raw_url.path, "" | "0") {
                return Err("a cluster has only the database 0".to_owned());
            }
            Servers::Cluster { seeds: addresses(raw_url.hosts, SERVER_PORT)?, template: ServerTemplate { login, tls } }
        }
        other => return Err(format!("unknown suffix {other:?}; use +sentinel or +cluster, or neither")),
    };
    Ok(options.apply(RedisConfig::of(servers)))
}

fn addresses(hosts: &str, port: u16) -> Result<Vec<HostPort>, String> {
    hosts.split(',').map(|host| address(host, port)).collect()
}

/// User and password, if given.
fn login(raw_url: &RawUrl<'_>) -> Result<RedisConnectionInfo, String> {
    let (user, password) = raw_url.login()?;
    let login = user.into_iter().fold(RedisConnectionInfo::default(), RedisConnectionInfo::set_username);
    Ok(password.into_iter().fold(login, RedisConnectionInfo::set_password))
}

/// The options after the question mark.
#[derive(Default)]
struct UrlOptions {
    prefix: Option<String>,
    key_pattern: Option<String>,
    wait_replicas: Option<u32>,
    protocol: ProtocolVersion,
    authority: Option<Vec<u8>>,
    certificate: Option<Vec<u8>>,
    private_key: Option<Vec<u8>>,
    sentinel_user: Option<String>,
    sentinel_password: Option<String>,
}

impl UrlOptions {
    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "prefix" => self.prefix = Some(value),
            "key_pattern" => self.key_pattern = Some(value),
            "wait_replicas" => {
                self.wait_replicas = Some(value.parse().map_err(|_| "wait_replicas must be a small number")?);
            }
            "protocol" => {
                self.protocol = match value.as_str() {
                    "2" | "resp2" => ProtocolVersion::RESP2,
                    "3" | "resp3" => ProtocolVersion::RESP3,
                    _ => return Err("protocol must be resp2 or resp3".to_owned()),
                }
            }
            "tls_ca" => self.authority = Some(read_file(name, Path::new(&value))?),
            "tls_cert" => self.certificate = Some(read_file(name, Path::new(&value))?),
            "tls_key" => self.private_key = Some(read_file(name, Path::new(&value))?),
            "sentinel_user" => self.sentinel_user = Some(value),
            "sentinel_password" => self.sentinel_password = Some(value),
            _ => {
                return Err(
                    "it has an unknown option; known are prefix, key_pattern, wait_replicas, protocol, tls_ca, \
                     tls_cert, tls_key, sentinel_user and sentinel_password"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    fn apply(self, config: RedisConfig) -> RedisConfig {
        let config = self.prefix.into_iter().fold(config, RedisConfig::prefix);
        let config = self.key_pattern.into_iter().fold(config, RedisConfig::key_pattern);
        self.wait_replicas.into_iter().fold(config, RedisConfig::wait_replicas)
    }

    fn certificates(&mut self, is_encrypted: bool) -> Result<Option<CertificateBundle>, String> {
        let client = match (self.certificate.take(), self.private_key.take()) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err("tls_cert and tls_key must be given together".to_owned()),
        };
        let certificates = CertificateBundle { authority: self.authority.take(), client };
        let has_any = certificates.client.is_some() || certificates.authority.is_some();
        match is_encrypted {
            true => Ok(Some(certificates)),
            // Whoever names certificates means to use them.
            false if has_any => Err("certificates need an encrypted scheme: rediss, not redis".to_owned()),
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

fn address(text: &str, default_port: u16) -> Result<HostPort, String> {
    let is_bare = !text.contains(':') || text.ends_with(']');
    let with_port = if is_bare { format!("{text}:{default_port}") } else { text.to_owned() };
    let address: HostPort =
        with_port.parse().map_err(|()| "the host must be followed by a port number, as in host:6379")?;
    if address.host.is_empty() { Err("it names no host".to_owned()) } else { Ok(address) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RedisConfig, String> {
        url(&text.parse().unwrap())
    }

    #[test]
    fn addresses_mean_what_people_expect() {
        for (text, place) in [
            ("redis://db", "db:6379"),
            ("redis://db:7000/3", "db:7000"),
            ("rediss://user:p%40ss@db/", "db:6379"),
            ("valkey://[::1]:7000", "::1:7000"),
            ("redis+sentinel://a,b:7000,c/main/2", "main (sentinels a:26379,b:7000,c:26379)"),
            ("redis+cluster://:secret@a,b:7000", "a:6379,b:7000"),
            ("redis://db?prefix=x&key_pattern={name}&wait_replicas=1&protocol=resp3", "db:6379"),
        ] {
            assert_eq!(read(text).unwrap().place(), place, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, why) in [
            ("redis:db", "two slashes"),
            ("redis://", "no host"),
            ("redis://a,b", "several hosts"),
            ("redis://db:x", "port"),
            ("redis://db/x", "number of a database"),
            ("redis+sentinel://a,b", "name of the primary"),
            ("redis+cluster://a/1", "database 0"),
            ("redis+ring://a", "+sentinel or +cluster"),
            ("redis://db?wait=1", "known are prefix"),
            ("redis://db?wait_replicas=many", "wait_replicas"),
            ("redis://db?tls_ca=/nowhere/ca.pem", "cannot read"),
            ("rediss://db?tls_cert=/dev/null", "must be given together"),
            ("redis://db?tls_ca=/dev/null", "rediss"),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn no_password_is_ever_shown() {
        for text in
            ["redis://user:canary@db", "redis://:canary@a,b", "redis+sentinel://:canary@a/m?sentinel_password=canary"]
        {
            let shown = match RedisConfig::from_url(&text.parse().unwrap()) {
                Ok(config) => format!("{config:?} {}", config.place()),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains("canary"), "{shown}");
        }
    }
}
