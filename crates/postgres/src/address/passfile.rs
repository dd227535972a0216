//! Passwords from a file, as in `~/.pgpass`.

use std::path::PathBuf;

use tokio_postgres::config::Host;

use super::hosts::HostAddress;
use super::settings::{Setting, UrlSettings};

/// The lines of a password file. It holds passwords, and so cannot be printed.
#[derive(Default)]
pub(super) struct Passfile {
    lines: Vec<[PassfileField; 5]>,
}

/// The text between two colons, without its escapes.
#[derive(Default)]
struct PassfileField {
    text: String,
    has_escapes: bool,
}

impl PassfileField {
    /// An escaped star is a plain star, not a wildcard.
    fn is_about(&self, value: &str) -> bool {
        self.text == value || (self.text == "*" && !self.has_escapes)
    }
}

impl Passfile {
    /// Reads the named file, or the usual one, and warns if it is not used.
    pub(super) fn read(settings: &UrlSettings<'_>, warnings: &mut Vec<String>) -> Self {
        let (path, source) = match settings.get("passfile") {
            Some(Setting { value, source }) => (PathBuf::from(value), Some(source)),
            None => match settings.environment.home() {
                Some(home) => (home.join(".pgpass"), None),
                None => return Self::default(),
            },
        };
        let shown = path.display();
        let kind = match settings.environment.look(&path) {
            Ok(kind) => kind,
            Err(error) => {
                // That the usual one is missing is usual.
                let named = source.map(|source| format!("ignoring the password file {shown} ({source}): {error}"));
                warnings.extend(named);
                return Self::default();
            }
        };
        if !kind.is_plain {
            warnings.push(format!("ignoring the password file {shown}: it is not a regular file"));
            return Self::default();
        }
        if kind.mode & 0o077 != 0 {
            warnings
                .push(format!("ignoring the password file {shown}: other users can read it; restrict it: chmod 0600"));
            return Self::default();
        }
        match settings.environment.read(&path) {
            Ok(text) => Self::of(&String::from_utf8_lossy(&text)),
            Err(error) => {
                warnings.push(format!("ignoring the password file {shown}: {error}"));
                Self::default()
            }
        }
    }

    fn of(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self { lines: lines.filter_map(|line| <[PassfileField; 5]>::try_from(fields(line)).ok()).collect() }
    }

    /// The password in the first line that matches.
    pub(super) fn password(&self, place: &HostAddress, database: &str, user: &str) -> Option<&str> {
        let names = match &place.host {
            Host::Tcp(name) => [name.clone(), name.clone()],
            // A socket is on this machine, and few write its directory.
            Host::Unix(directory) => [directory.display().to_string(), "localhost".to_owned()],
        };
        let port = place.port.to_string();
        let line = self.lines.iter().find(|[host, its_port, its_database, its_user, _]| {
            names.iter().any(|name| host.is_about(name))
                && its_port.is_about(&port)
                && its_database.is_about(database)
                && its_user.is_about(user)
        });
        line.map(|[.., password]| password.text.as_str()).filter(|password| !password.is_empty())
    }
}

/// The fields of a line. Anything after the fifth is ignored.
fn fields(line: &str) -> Vec<PassfileField> {
    let mut fields = vec![PassfileField::default()];
    let mut chars = line.chars();
    while let Some(next) = chars.next() {
        let is_last = fields.len() == 5;
        let Some(field) = fields.last_mut() else { break };
        match next {
            ':' if is_last => break,
            ':' => fields.push(PassfileField::default()),
            '\\' => {
                field.has_escapes = true;
                field.text.extend(chars.next());
            }
            next => field.text.push(next),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::super::environment::made_up::FakeEnvironment;
    use super::*;

    fn tcp(name: &str, port: u16) -> HostAddress {
        HostAddress { host: Host::Tcp(name.to_owned()), address: None, port }
    }

    #[test]
    fn the_first_line_that_is_about_it_counts() {
        let file = Passfile::of(
            "# db:1:shop:app:comment\n\
             broken line\n\
             db:1:shop:app:one\n\
             db:*:shop:app:two\r\n\
             fe80\\:\\:1:*:*:*:three\\:\\\\\\x:ignored\n\
             *:*:empty:*:\n\
             \\*:*:*:star:star\n\
             localhost:*:*:*:here\n\
             *:*:*:back\\\\slash:four",
        );
        let unix = HostAddress { host: Host::Unix("/run/pg".into()), address: None, port: 1 };
        for (place, database, user, password) in [
            (tcp("db", 1), "shop", "app", Some("one")),
            (tcp("db", 2), "shop", "app", Some("two")),
            (tcp("db", 2), "shop", "other", None),
            (tcp("fe80::1", 1), "x", "y", Some("three:\\x")),
            (tcp("db", 1), "empty", "app", None),
            (tcp("db", 1), "x", "star", None),
            (tcp("*", 1), "x", "star", Some("star")),
            (unix, "shop", "app", Some("here")),
            (tcp("elsewhere", 1), "shop", "back\\slash", Some("four")),
            (tcp("d", 1), "shop", "app", None),
        ] {
            assert_eq!(file.password(&place, database, user), password, "{place:?} {database} {user}");
        }
    }

    fn read(variables: &[(&'static str, &'static str)], path: &str, mode: u32) -> (Option<String>, Vec<String>) {
        let environment = FakeEnvironment::new(variables).file(path, mode, "*:*:*:*:canary").directory("/directory");
        let url = "postgres://".parse().expect("an address");
        let settings = UrlSettings::of(&url, &environment).expect("settings");
        let mut warnings = Vec::new();
        let file = Passfile::read(&settings, &mut warnings);
        (file.password(&tcp("db", 1), "x", "y").map(str::to_owned), warnings)
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        assert_eq!(read(&[], "/me/.pgpass", 0o600), (Some("canary".to_owned()), vec![]));
        assert_eq!(read(&[("PGPASSFILE", "/p")], "/p", 0o400), (Some("canary".to_owned()), vec![]));
        assert_eq!(read(&[], "/elsewhere", 0o600), (None, vec![]));
        for (variables, mode, why) in [
            ([("PGPASSFILE", "/p")], 0o640, "chmod"),
            ([("PGPASSFILE", "/p")], 0o604, "chmod"),
            ([("PGPASSFILE", "/missing")], 0o600, "PGPASSFILE"),
            ([("PGPASSFILE", "/directory")], 0o600, "regular file"),
        ] {
            let (password, warnings) = read(&variables, "/p", mode);
            assert_eq!(password, None, "{variables:?} {mode:o}");
            assert!(warnings.len() == 1 && warnings[0].contains(why), "{warnings:?}");
            assert!(!warnings[0].contains("canary"), "{warnings:?}");
        }
    }
}
