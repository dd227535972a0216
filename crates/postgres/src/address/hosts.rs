//! The hosts of an address, or the default ones if it has none.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tokio_postgres::config::Host;

use super::settings::{Setting, UrlSettings};

/// The default port of servers.
pub(super) const PORT: u16 = 5432;
/// The default directory of the socket.
const SOCKET_DIRECTORY: &str = "/var/run/postgresql";

/// The address of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostAddress {
    /// Its name, which its certificate must match, or the directory of its socket.
    pub(super) host: Host,
    /// Its IP address, if it is not resolved by name.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

impl HostAddress {
    /// A server with this name at this address. A server with an address is not reached through its socket.
    pub(super) fn new(host: Option<Host>, address: Option<IpAddr>, port: u16) -> Option<Self> {
        let host = host.filter(|host| address.is_none() || matches!(host, Host::Tcp(_)));
        let host = host.or_else(|| address.map(|address| Host::Tcp(address.to_string())))?;
        Some(Self { host, address, port })
    }

    pub(super) fn is_socket(&self) -> bool {
        matches!(self.host, Host::Unix(_))
    }

    /// Whether traffic to it never leaves the machine.
    pub(super) fn is_local(&self) -> bool {
        let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
        let is_local = match &self.host {
            Host::Tcp(name) => name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback),
            Host::Unix(_) => true,
        };
        is_local && self.address.is_none_or(is_loopback)
    }
}

/// Determines the addresses of the servers.
pub(super) fn places(settings: &UrlSettings<'_>) -> Result<Vec<HostAddress>, String> {
    let list = |setting: Option<Setting>| {
        setting.map(|setting| setting.value.split(',').map(str::to_owned).collect::<Vec<_>>())
    };
    let hosts = list(settings.get("host")).unwrap_or_default();
    let addresses = match settings.get("hostaddr") {
        Some(Setting { value, source }) => {
            value.split(',').map(|text| address(text, source)).collect::<Result<_, _>>()?
        }
        None => Vec::new(),
    };
    let count = hosts.len().max(addresses.len()).max(1);
    if !hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len() {
        return Err("hostaddr must have as many addresses as host has names".to_owned());
    }
    let ports = match settings.get("port") {
        Some(Setting { value, source }) => value.split(',').map(|text| port(text, source)).collect::<Result<_, _>>()?,
        None => vec![PORT],
    };
    if ports.len() != 1 && ports.len() != count {
        return Err("give one port for each host, or one for all".to_owned());
    }
    let place = |position: usize| {
        let name = hosts.get(position).map(String::as_str).filter(|name| !name.is_empty());
        let address = addresses.get(position).copied().flatten();
        let port = ports.get(position).or(ports.first()).copied().unwrap_or(PORT);
        let host = name.map(host).or_else(|| address.is_none().then(|| usual_host(settings)));
        HostAddress::new(host, address, port)
    };
    Ok((0..count).filter_map(place).collect())
}

fn host(name: &str) -> Host {
    if name.starts_with('/') { Host::Unix(PathBuf::from(name)) } else { Host::Tcp(name.to_owned()) }
}

fn usual_host(settings: &UrlSettings<'_>) -> Host {
    let is_there = settings.environment.look(Path::new(SOCKET_DIRECTORY)).is_ok_and(|kind| kind.is_directory);
    host(if is_there { SOCKET_DIRECTORY } else { "localhost" })
}

fn address(text: &str, source: &str) -> Result<Option<IpAddr>, String> {
    match text {
        "" => Ok(None),
        text => {
            text.parse().map(Some).map_err(|_| format!("{source} must be an address such as 192.0.2.1 or 2001:db8::1"))
        }
    }
}

fn port(text: &str, source: &str) -> Result<u16, String> {
    match text {
        "" => Ok(PORT),
        text => text
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("{source} must be a port number, such as 5432")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::made_up::FakeEnvironment;
    use super::*;

    fn read(url: &str, environment: &FakeEnvironment) -> Result<Vec<HostAddress>, String> {
        places(&UrlSettings::of(&url.parse().unwrap(), environment)?)
    }

    fn shown(places: &[HostAddress]) -> String {
        let show = |place: &HostAddress| {
            let name = match &place.host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(directory) => format!("unix:{}", directory.display()),
            };
            let address = place.address.map(|address| format!("={address}")).unwrap_or_default();
            format!("{name}{address}:{}", place.port)
        };
        places.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hosts_are_where_people_expect_them() {
        for (url, places) in [
            ("postgres://", "localhost:5432"),
            ("postgres://db", "db:5432"),
            ("postgres://a,b:2/x", "a:5432 b:2"),
            ("postgres://a,b/?port=7", "a:7 b:7"),
            ("postgres://a,b/?port=7,8", "a:7 b:8"),
            ("postgres://[2001:db8::1]:7/", "2001:db8::1:7"),
            ("postgres:///x?host=::1", "::1:5432"),
            ("postgres:///x?host=/run/pg&port=7", "unix:/run/pg:7"),
            ("postgres://%2Frun%2Fpg:7/x", "unix:/run/pg:7"),
            ("postgres:///?hostaddr=192.0.2.1", "192.0.2.1=192.0.2.1:5432"),
            ("postgres://db?hostaddr=192.0.2.1", "db=192.0.2.1:5432"),
            ("postgres://a,b?hostaddr=192.0.2.1,", "a=192.0.2.1:5432 b:5432"),
            ("postgres://%2Frun?hostaddr=192.0.2.1", "192.0.2.1=192.0.2.1:5432"),
            ("postgres://a,/", "a:5432 localhost:5432"),
            ("postgres://:7/", "localhost:7"),
        ] {
            assert_eq!(shown(&read(url, &FakeEnvironment::default()).unwrap()), places, "{url}");
        }
        let with_socket = FakeEnvironment::default().directory(SOCKET_DIRECTORY);
        assert_eq!(shown(&read("postgres://", &with_socket).unwrap()), "unix:/var/run/postgresql:5432");
        let elsewhere =
            FakeEnvironment::new(&[("PGHOST", "a,b"), ("PGHOSTADDR", "192.0.2.1,192.0.2.2"), ("PGPORT", "7")]);
        assert_eq!(shown(&read("postgres://", &elsewhere).unwrap()), "a=192.0.2.1:7 b=192.0.2.2:7");
    }

    #[test]
    fn hosts_that_cannot_be_are_refused_without_repeating_them() {
        for (url, why) in [
            ("postgres://db:canary", "port must be a port number"),
            ("postgres://db:0", "port must be a port number"),
            ("postgres://db:65536", "port must be a port number"),
            ("postgres://a,b,c?port=1,2", "one port for each"),
            ("postgres://db?hostaddr=canary", "hostaddr must be an address"),
            ("postgres://a,b?hostaddr=192.0.2.1", "as many"),
        ] {
            let error = read(url, &FakeEnvironment::default()).unwrap_err();
            assert!(error.contains(why) && !error.contains("canary"), "{url}: {error}");
        }
    }

    #[test]
    fn local_is_what_does_not_leave_the_machine() {
        for (url, is_local) in [
            ("postgres://localhost", true),
            ("postgres://127.8.9.1", true),
            ("postgres://[::1]", true),
            ("postgres://[::ffff:127.0.0.1]", true),
            ("postgres://%2Frun", true),
            ("postgres:///?hostaddr=127.0.0.1", true),
            ("postgres://db", false),
            ("postgres://192.0.2.1", false),
            ("postgres://db?hostaddr=127.0.0.1", false),
            ("postgres://localhost?hostaddr=192.0.2.1", false),
            ("postgres://localhost.example", false),
        ] {
            assert_eq!(read(url, &FakeEnvironment::default()).unwrap()[0].is_local(), is_local, "{url}");
        }
    }
}
