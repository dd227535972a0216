//! What a server is to be like.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::account::UnprivilegedUser;
use crate::certificates::{CertificateFiles, Tls, TlsClients};
use crate::service_dir::ServiceDir;
use crate::wall_clock::FakeWallClock;

/// What a [`PostgresServer`](super::PostgresServer) is to be like. It holds passwords, and so cannot be printed.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) directory: Option<PathBuf>,
    pub(super) wall_clock: Option<FakeWallClock>,
    pub(super) roles: Vec<(String, String)>,
    tls: Option<Tls>,
    is_durable: bool,
    max_connections: u16,
    access_rules: Vec<String>,
    settings: Vec<(String, String)>,
}

impl PostgresOptions {
    /// With what it confirmed on the disk, and not only with the kernel, as a server is in service. Without this it has its
    /// data after a [`kill`](super::PostgresServer::kill), too, since the kernel stays.
    #[must_use]
    pub fn durable(self) -> Self {
        Self { is_durable: true, ..self }
    }

    /// With room for so many connections, the kit's own among them. Without this it is 100.
    #[must_use]
    pub fn max_connections(self, count: u16) -> Self {
        Self { max_connections: count, ..self }
    }

    /// With one more role that can log in.
    #[must_use]
    pub fn role(mut self, name: &str, password: &str) -> Self {
        self.roles.push((name.to_owned(), password.to_owned()));
        self
    }

    /// With this setting, as in `postgresql.conf`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this line in `pg_hba.conf`, before those of the kit: the first that matches counts.
    #[must_use]
    pub fn access_rule(mut self, line: &str) -> Self {
        self.access_rules.push(line.to_owned());
        self
    }

    /// With nothing but encrypted connections, as this server, from such clients of this authority. They need their
    /// passwords, too; an [access rule](Self::access_rule) can have it otherwise.
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

    /// The same in a directory of its own.
    pub(super) fn elsewhere(&self) -> Self {
        Self { directory: None, ..self.clone() }
    }

    /// Writes what the server reads when it starts.
    pub(super) fn write(&self, service_dir: &ServiceDir, port: u16) {
        let account = UnprivilegedUser::of_servers();
        account.write(&service_dir.join(CONFIGURATION), self.configuration(service_dir, port));
        account.write(&service_dir.join(ACCESS), self.access());
        account.write(&service_dir.join(USER_NAMES), "");
        let Some(tls) = &self.tls else { return };
        let files =
            [(&tls.server.certificate, CERTIFICATE), (&tls.server.key, KEY), (&tls.authority.certificate, TRUSTED)];
        for (file, name) in files {
            account.write(&service_dir.join(name), fs::read(file).unwrap());
        }
    }

    fn configuration(&self, service_dir: &ServiceDir, port: u16) -> String {
        let mut text = String::new();
        let mut set = |name: &str, value: &dyn ToString| {
            writeln!(text, "{name} = '{}'", value.to_string().replace('\'', "''")).unwrap();
        };
        let path = |name: &str| service_dir.join(name).display().to_string();
        set("listen_addresses", &"127.0.0.1");
        set("port", &port);
        set("unix_socket_directories", &service_dir.path().display());
        set("hba_file", &path(ACCESS));
        set("ident_file", &path(USER_NAMES));
        set("max_connections", &self.max_connections);
        set("shared_buffers", &"16MB");
        // In its own directory, so that nothing stays elsewhere when it is killed.
        set("dynamic_shared_memory_type", &"mmap");
        set("log_line_prefix", &"%m [%p] %q%u@%d ");
        // For a standby that comes back, and soon.
        set("wal_keep_size", &"64MB");
        set("wal_retrieve_retry_interval", &"100ms");
        if !self.is_durable {
            set("fsync", &"off");
        }
        if self.tls.is_some() {
            set("ssl", &"on");
            set("ssl_cert_file", &path(CERTIFICATE));
            set("ssl_key_file", &path(KEY));
            set("ssl_ca_file", &path(TRUSTED));
        }
        // The last one counts where a name comes twice.
        self.settings.iter().for_each(|(name, value)| set(name, value));
        text
    }

    fn access(&self) -> String {
        let host = match self.tls.as_ref().map(|tls| tls.clients) {
            None => "host all all 127.0.0.1/32 scram-sha-256",
            Some(TlsClients::MayBeUnknown) => "hostssl all all 127.0.0.1/32 scram-sha-256",
            Some(TlsClients::MustBeSigned) => "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca",
        };
        // The directory of the socket lets nobody in but the server's own user, and root.
        let own =
            ["local all all trust", "local replication postgres trust", "host replication postgres 127.0.0.1/32 trust"];
        let rules = self.access_rules.iter().map(String::as_str).chain(own).chain([host]);
        rules.map(|rule| format!("{rule}\n")).collect()
    }
}

impl Default for PostgresOptions {
    /// A server for speed, without encryption.
    fn default() -> Self {
        Self {
            directory: None,
            wall_clock: None,
            roles: Vec::new(),
            tls: None,
            is_durable: false,
            max_connections: 100,
            access_rules: Vec::new(),
            settings: Vec::new(),
        }
    }
}

/// The file that a server is started with, in its directory.
pub(super) const CONFIGURATION: &str = "postgresql.conf";

const ACCESS: &str = "pg_hba.conf";
const USER_NAMES: &str = "pg_ident.conf";
const CERTIFICATE: &str = "server.certificate.pem";
const KEY: &str = "server.key.pem";
const TRUSTED: &str = "trusted.pem";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_the_test_come_first() {
        let rules = PostgresOptions::default().access_rule("host all a 127.0.0.1/32 reject").access();
        assert!(rules.starts_with("host all a 127.0.0.1/32 reject\nlocal all all trust\n"), "{rules}");
    }

    #[test]
    fn values_survive_in_the_configuration() {
        let service_dir = ServiceDir::at(None);
        let text = PostgresOptions::default().setting("cluster_name", "it's").configuration(&service_dir, 1);
        assert!(text.ends_with("cluster_name = 'it''s'\n"), "{text}");
        assert!(text.contains("fsync = 'off'\n"), "{text}");
        assert!(!PostgresOptions::default().durable().configuration(&service_dir, 1).contains("fsync"));
    }
}
