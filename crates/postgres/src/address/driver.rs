//! Conversion from an existing configuration of the driver.

use std::time::Duration;

use rustls::ClientConfig;
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

use super::super::config::{PostgresConfig, SCHEMA};
use super::super::identifier::Identifier;
use super::environment::Environment;
use super::hosts::{HostAddress, PORT};
use super::server::{ServerAddress, template};
use super::tls::{Encryption, Mode, given_encryption, usual_encryption};

/// The default of the driver, which is too long to notice anything.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Converts a configuration; errors describe what is wrong with it.
pub(crate) fn read(
    driver: &Config,
    tls: Option<ClientConfig>,
    environment: &dyn Environment,
) -> Result<PostgresConfig, String> {
    if driver.get_target_session_attrs() == TargetSessionAttrs::ReadOnly {
        return Err("elections are held on the primary, and never on a standby".to_owned());
    }
    let template = template_of(driver);
    let is_given = tls.is_some();
    let setting = match driver.get_ssl_mode() {
        SslMode::Disable => Some(Mode::Disable),
        // The driver cannot say whether this was said.
        SslMode::Prefer if !is_given => None,
        _ => Some(Mode::VerifyFull),
    };
    let places = places(driver)?;
    let is_encrypted = |place: &HostAddress| Mode::at(place, setting) != Mode::Disable;
    let encryption = match tls {
        Some(config) => given_encryption(config),
        None if places.iter().any(is_encrypted) => usual_encryption(environment.authorities()?)?,
        None => Encryption::Off,
    };
    let server = |place: &HostAddress| {
        let encryption = if is_encrypted(place) { encryption.clone() } else { Encryption::Off };
        ServerAddress::new(&template, place, encryption)
    };
    let servers = places.iter().map(server).collect::<Result<Vec<ServerAddress>, String>>()?;
    let schema = Identifier::new(SCHEMA).map_err(str::to_owned)?;
    Ok(PostgresConfig::of(servers, schema, Vec::new()))
}

fn places(driver: &Config) -> Result<Vec<HostAddress>, String> {
    let (hosts, addresses, ports) = (driver.get_hosts(), driver.get_hostaddrs(), driver.get_ports());
    let count = hosts.len().max(addresses.len());
    let fits = |length: usize, few: usize| length <= few || length == count;
    if count == 0 {
        return Err("it names no host".to_owned());
    }
    if !fits(hosts.len(), 0) || !fits(addresses.len(), 0) || !fits(ports.len(), 1) {
        return Err("the numbers of hosts, addresses and ports differ".to_owned());
    }
    let place = |position: usize| {
        let port = ports.get(position).or(ports.first()).copied().unwrap_or(PORT);
        HostAddress::new(hosts.get(position).cloned(), addresses.get(position).copied(), port)
    };
    Ok((0..count).filter_map(place).collect())
}

/// Everything but the addresses of the servers: the driver cannot forget them.
fn template_of(driver: &Config) -> Config {
    let mut config = template();
    if let Some(user) = driver.get_user() {
        config.user(user);
    }
    if let Some(password) = driver.get_password() {
        config.password(password);
    }
    if let Some(database) = driver.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = driver.get_options() {
        config.options(options);
    }
    if let Some(name) = driver.get_application_name() {
        config.application_name(name);
    }
    if let Some(timeout) = driver.get_connect_timeout() {
        config.connect_timeout(*timeout);
    }
    if let Some(timeout) = driver.get_tcp_user_timeout() {
        config.tcp_user_timeout(*timeout);
    }
    if driver.get_keepalives_idle() != KEEPALIVES_IDLE {
        config.keepalives_idle(driver.get_keepalives_idle());
    }
    if let Some(interval) = driver.get_keepalives_interval() {
        config.keepalives_interval(interval);
    }
    if let Some(retries) = driver.get_keepalives_retries() {
        config.keepalives_retries(retries);
    }
    config
        .keepalives(driver.get_keepalives())
        .ssl_negotiation(driver.get_ssl_negotiation())
        .channel_binding(driver.get_channel_binding());
    config
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::super::environment::made_up::FakeEnvironment;
    use super::*;

    #[test]
    fn nothing_gets_lost_on_the_way() {
        let mut driver = Config::new();
        driver.user("u").password("canary").dbname("d").options("-c x=y").application_name("a").host("h").port(7);
        driver.connect_timeout(Duration::from_secs(8)).tcp_user_timeout(Duration::from_secs(9)).keepalives(false);
        driver
            .keepalives_idle(Duration::from_secs(1))
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(4);
        driver.ssl_mode(SslMode::Disable).hostaddr(IpAddr::from([192, 0, 2, 1]));
        let config = read(&driver, None, &FakeEnvironment::default()).unwrap();
        assert_eq!(config.servers.iter().map(|server| server.config.clone()).collect::<Vec<_>>(), [driver]);
        assert!(!format!("{config:?}").contains("canary"));
    }

    #[test]
    fn several_hosts_become_several_servers_that_encrypt_unless_they_are_here() {
        let mut driver = Config::new();
        driver.host("db").host("127.0.0.1").host_path("/run").port(7);
        let modes = |driver: &Config| {
            let config = read(driver, None, &FakeEnvironment::default()).expect("a configuration");
            config.servers.iter().map(|server| (server.to_string(), server.config.get_ssl_mode())).collect::<Vec<_>>()
        };
        let names = ["db:7", "127.0.0.1:7", "/run:7"].map(str::to_owned);
        let expected = |modes: [SslMode; 3]| names.iter().cloned().zip(modes).collect::<Vec<_>>();
        assert_eq!(modes(&driver), expected([SslMode::Require, SslMode::Disable, SslMode::Disable]));
        driver.ssl_mode(SslMode::Require);
        assert_eq!(modes(&driver), expected([SslMode::Require, SslMode::Require, SslMode::Disable]));
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        let refused = |driver: &Config| read(driver, None, &FakeEnvironment::default()).err().unwrap_or_default();
        assert!(refused(&Config::new()).contains("no host"));
        assert!(refused(Config::new().host("a").port(1).port(2)).contains("ports differ"));
        let read_only = TargetSessionAttrs::ReadOnly;
        assert!(refused(Config::new().host("localhost").target_session_attrs(read_only)).contains("standby"));
    }
}
