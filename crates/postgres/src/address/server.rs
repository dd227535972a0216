//! One server of an address, in the form that the driver needs.

use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode};

use super::hosts::{HostAddress, PORT};
use super::tls::Encryption;

/// A server, and the credentials for it. It holds a password, and so cannot be printed.
///
/// The driver knows lists of servers, too, but only one password and one way to encrypt for all of them.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
}

impl ServerAddress {
    /// The server at this address, with all other settings from the template.
    pub(super) fn new(template: &Config, place: &HostAddress, encryption: Encryption) -> Result<Self, String> {
        let mut config = template.clone();
        match &place.host {
            Host::Tcp(name) => config.host(name),
            Host::Unix(directory) => config.host_path(directory),
        };
        if let Some(address) = place.address {
            config.hostaddr(address);
        }
        config.port(place.port);
        // The driver must neither fall back nor try without being asked.
        config.ssl_mode(match (&encryption, &place.host) {
            (Encryption::Off, _) => SslMode::Disable,
            (Encryption::On(_), Host::Tcp(name)) => {
                let name = rustls::pki_types::ServerName::try_from(name.as_str());
                name.map_err(
                    |_| "no certificate can be for its host; give the host's name, and its address in hostaddr",
                )?;
                SslMode::Require
            }
            (Encryption::On(_), Host::Unix(_)) => SslMode::Require,
        });
        if config.get_channel_binding() == ChannelBinding::Require && matches!(encryption, Encryption::Off) {
            return Err("channel_binding=require needs an encrypted connection; set sslmode".to_owned());
        }
        Ok(Self { config, encryption })
    }

    /// The time to try: a server that hangs must not keep the others from being asked.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.config.get_connect_timeout().copied()
    }
}

impl fmt::Display for ServerAddress {
    /// Its address, without credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) if name.contains(':') => write!(f, "[{name}]:{port}"),
            Some(Host::Tcp(name)) => write!(f, "{name}:{port}"),
            Some(Host::Unix(directory)) => write!(f, "{}:{port}", directory.display()),
            None => write!(f, "?:{port}"),
        }
    }
}

/// What connections are like if nobody says otherwise. Both ends give up on a link that is cut: the same is asked of the
/// server.
pub(super) fn template() -> Config {
    let mut config = Config::new();
    config
        .application_name("tenure")
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(2))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(11));
    config
}
