//! What a server is to be like.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::certificates::{CertificateFiles, Tls, TlsClients};
use crate::percent::percent_encoded;
use crate::ports::free_port;
use crate::wall_clock::FakeWallClock;

/// Which program serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Redis itself.
    Redis,
    /// What grew out of it, and speaks the same protocol.
    Valkey,
}

impl Flavour {
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }
}

/// What a [`RedisServer`](super::RedisServer) is to be like. It holds passwords, and so cannot be printed.
#[derive(Clone)]
pub struct RedisOptions {
    pub(super) flavour: Flavour,
    pub(super) password: Option<String>,
    pub(super) directory: Option<PathBuf>,
    pub(super) wall_clock: Option<FakeWallClock>,
    pub(super) is_sentinel: bool,
    pub(super) tls: Option<Tls>,
    is_persistent: bool,
    has_cluster_port: bool,
    users: Vec<String>,
    lines: Vec<String>,
}

impl RedisOptions {
    /// A server that keeps nothing on disk and lets everybody in, without a password or encryption.
    #[must_use]
    pub fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            password: None,
            directory: None,
            wall_clock: None,
            is_sentinel: false,
            tls: None,
            is_persistent: false,
            has_cluster_port: false,
            users: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// With what it acknowledged still there after it was killed.
    #[must_use]
    pub fn persistent(self) -> Self {
        Self { is_persistent: true, ..self }
    }

    /// With a password for the default user. It must not contain a space.
    #[must_use]
    pub fn password(self, password: &str) -> Self {
        Self { password: Some(password.to_owned()), ..self }
    }

    /// With one more user, as in a file of access rules: `NAME on >PASSWORD ~* &* +@all`. One that is called `default` takes
    /// the place of the usual one.
    #[must_use]
    pub fn user(mut self, rules: &str) -> Self {
        self.users.push(rules.to_owned());
        self
    }

    /// With one more line in its configuration file.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// With nothing but encrypted connections, as this server, from such clients of this authority.
    #[must_use]
    pub fn tls(self, server: &CertificateFiles, authority: &CertificateFiles, clients: TlsClients) -> Self {
        let tls = Tls { server: server.clone(), authority: authority.clone(), clients };
        Self { tls: Some(tls), ..self }
    }

    /// In this directory, which is made if it is missing, and stays.
    #[must_use]
    pub fn directory(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..self }
    }

    /// With this for the time of day.
    #[must_use]
    pub fn wall_clock(self, wall_clock: &FakeWallClock) -> Self {
        Self { wall_clock: Some(wall_clock.clone()), ..self }
    }

    /// As one of several that copy each other's data, at once and with the password that they share.
    pub(super) fn replicating(self) -> Self {
        let password = self.password.as_ref().map(|password| format!("masterauth {password}"));
        ["repl-diskless-sync-delay 0".to_owned()].into_iter().chain(password).fold(self, Self::line)
    }

    /// As one that watches servers, instead of one that is watched.
    pub(super) fn sentinel(self) -> Self {
        Self { is_sentinel: true, ..self }
    }

    /// With a port for the other nodes of its cluster, too.
    pub(super) fn with_cluster_port(self) -> Self {
        Self { has_cluster_port: true, ..self }
    }

    /// The password of the default user, as it stands in an address before the host.
    pub(super) fn credentials(&self) -> String {
        self.password.as_ref().map(|password| format!(":{}@", percent_encoded(password))).unwrap_or_default()
    }

    /// The name and password under which the kit itself is let in, whatever the others may do.
    pub(super) fn own_user(&self) -> Option<&'static str> {
        (self.password.is_some() || !self.users.is_empty()).then_some(OWN_USER)
    }

    /// Writes what the server reads when it starts.
    pub(super) fn write(&self, directory: &Path, port: u16) {
        std::fs::write(directory.join(CONFIGURATION), self.configuration(directory, port)).unwrap();
        if self.own_user().is_some() {
            std::fs::write(directory.join(USERS), self.access_rules()).unwrap();
        }
    }

    fn configuration(&self, directory: &Path, port: u16) -> String {
        let mut text = format!("dir \"{}\"\nbind 127.0.0.1\nunixsocket {SOCKET}\n", directory.display());
        let mut add = |line: &str| writeln!(text, "{line}").unwrap();
        match &self.tls {
            None => add(&format!("port {port}")),
            Some(tls) => add(&encryption(tls, port)),
        }
        if self.is_persistent {
            add("appendonly yes\nappendfsync always");
        }
        add("save \"\"");
        if self.own_user().is_some() {
            add(&format!("aclfile {}", directory.join(USERS).display()));
        }
        if self.has_cluster_port {
            add(&format!("cluster-port {}", free_port()));
        }
        self.lines.iter().for_each(|line| add(line));
        text
    }

    fn access_rules(&self) -> String {
        let default = self.password.as_ref().map_or("nopass".to_owned(), |password| format!(">{password}"));
        let default = format!("default on {default} {EVERYTHING}");
        let has_default = self.users.iter().any(|rules| rules.starts_with("default "));
        let users = self.users.iter().cloned().chain((!has_default).then_some(default));
        users.chain([format!("{OWN_USER} on nopass {EVERYTHING}")]).map(|rules| format!("user {rules}\n")).collect()
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self::new(Flavour::Redis)
    }
}

/// What a configuration file says of these certificates.
fn encryption(tls: &Tls, port: u16) -> String {
    let clients = match tls.clients {
        TlsClients::MayBeUnknown => "optional",
        TlsClients::MustBeSigned => "yes",
    };
    let [certificate, key, authority] =
        [&tls.server.certificate, &tls.server.key, &tls.authority.certificate].map(|path| path.display());
    format!(
        "port 0\ntls-port {port}\ntls-cert-file {certificate}\ntls-key-file {key}\n\
         tls-ca-cert-file {authority}\ntls-auth-clients {clients}"
    )
}
/// The file that a server is started with, in its directory.
pub(super) const CONFIGURATION: &str = "server.conf";

/// The socket through which the kit talks to a server, in its directory: it needs neither encryption nor a free port.
pub(super) const SOCKET: &str = "socket";

const USERS: &str = "users.acl";
const OWN_USER: &str = "tenure-testkit";
const EVERYTHING: &str = "~* &* +@all";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_user_of_the_test_takes_the_place_of_the_usual_one() {
        let rules = RedisOptions::default().user("default off").user("a on >b").access_rules();
        assert_eq!(rules.lines().filter(|line| line.starts_with("user default ")).count(), 1, "{rules}");
        assert!(rules.contains("user default off\nuser a on >b\n"), "{rules}");
    }

    #[test]
    fn without_users_and_password_nobody_needs_a_name() {
        assert_eq!(RedisOptions::default().own_user(), None);
        assert_eq!(RedisOptions::default().password("x").own_user(), Some(OWN_USER));
    }
}
