//! Addresses of servers, and the credentials for them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};

use super::error::RedisStoreError;
use super::tls::CertificateBundle;

/// The host and port of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HostPort {
    pub(super) host: String,
    pub(super) port: u16,
}

/// All settings of a server except its address.
#[derive(Clone)]
pub(super) struct ServerTemplate {
    pub(super) login: RedisConnectionInfo,
    /// TLS, with these certificates.
    pub(super) tls: Option<CertificateBundle>,
}

impl ServerTemplate {
    /// A client for the server at this address.
    pub(super) fn client(&self, address: &HostPort) -> Result<Client, RedisStoreError> {
        let HostPort { host, port } = address.clone();
        let place = match &self.tls {
            Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
            None => ConnectionAddr::Tcp(host, port),
        };
        let client = || {
            let info = place.into_connection_info()?;
            let info = info.set_redis_settings(self.login.clone()).set_tcp_settings(attentive());
            match &self.tls {
                Some(certificates) => certificates.client(info),
                None => Client::open(info),
            }
        };
        client().map_err(|error| RedisStoreError::Connect(Arc::new(error)))
    }
}

/// Makes a connection that sends nothing, as for pushes, notice that the other end is gone.
fn attentive() -> TcpSettings {
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(3)).with_retries(3);
    TcpSettings::default().set_nodelay(true).set_keepalive(keepalive).set_user_timeout(Duration::from_secs(20))
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for HostPort {
    type Err = ();

    /// Parses `HOST:PORT`, where an IPv6 address may be in brackets.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (host, port) = text.rsplit_once(':').ok_or(())?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Ok(Self { host: host.to_owned(), port: port.parse().map_err(|_| ())? })
    }
}
