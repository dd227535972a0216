//! Addresses of stores.

use std::fmt;
use std::str::FromStr;

use super::{StoreError, StoreErrorKind};

/// The address of a store. Printing it hides the password.
///
/// ```
/// use tenure::StoreUrl;
///
/// let url: StoreUrl = "redis://app:hunter2@db.example/0".parse()?;
/// assert_eq!(url.to_string(), "redis://app:***@db.example/0");
/// assert_eq!(format!("{url:?}"), "StoreUrl(redis://app:***@db.example/0)");
/// # Ok::<(), tenure::StoreError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    text: String,
    colon: usize,
}

impl StoreUrl {
    /// What comes before the first colon.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.text[..self.colon]
    }

    /// The whole text, including the password. Pass it to the store's driver only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// What comes after the first colon.
    #[must_use]
    pub fn rest(&self) -> &str {
        &self.text[self.colon + 1..]
    }
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        let valid = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        };
        match scheme {
            Some(scheme) if valid(scheme) && !text.contains(char::is_control) => {
                Ok(Self { text: text.to_owned(), colon: scheme.len() })
            }
            // The text is not shown: without a scheme nobody can tell what part of it is a password.
            Some(_) | None => Err(StoreError::not_sent(
                StoreErrorKind::Configuration,
                "the store address is not of the form SCHEME:REST, such as sqlite:PATH or redis://HOST",
            )),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = (self.scheme(), &self.text[self.colon + 1..]);
        let is_understood = is_local(scheme) || (is_server(scheme) && rest.starts_with("//"));
        if !is_understood {
            // A forgotten scheme makes `user:password@host` an address of the scheme `user`; a forgotten slash leaves
            // no way to tell where a password begins.
            return write!(f, "{scheme}:{}", if rest.is_empty() { "" } else { "***" });
        }
        let (slashes, rest) = rest.split_at(rest.len() - rest.trim_start_matches('/').len());
        if rest.find('?').is_some_and(|question_mark| rest[question_mark..].contains('@')) {
            // The question mark may be part of a password, or the @ of a parameter. Nobody can tell: both are hidden.
            let user = rest.split([':', '/', '?', '@']).next().unwrap_or_default();
            return write!(f, "{scheme}:{slashes}{user}:***");
        }
        let (base, query) = rest.split_once('?').map_or((rest, None), |(base, query)| (base, Some(query)));
        // The last @ ends the credentials: a password may hold anything else, even an unescaped slash.
        match base.rsplit_once('@') {
            Some((credentials, place)) => {
                let shown = match credentials.split_once(':') {
                    Some((user, _)) => format!("{user}:***"),
                    // Redis had passwords long before it had users, and many write one in this place.
                    None if scheme.starts_with("redis") || scheme.starts_with("valkey") => "***".to_owned(),
                    None => credentials.to_owned(),
                };
                write!(f, "{scheme}:{slashes}{shown}@{place}")?;
            }
            None if slashes == "//" => write!(f, "{scheme}:{slashes}{}", without_odd_ports(base))?,
            None => write!(f, "{scheme}:{slashes}{base}")?,
        }
        // Some drivers take secrets as parameters; their names are shown, their values are not.
        for (position, parameter) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
            let separator = if position == 0 { '?' } else { '&' };
            write!(f, "{separator}{}=***", parameter.split('=').next().unwrap_or_default())?;
        }
        Ok(())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

/// Whether the scheme is followed by a path, or by nothing.
fn is_local(scheme: &str) -> bool {
    matches!(scheme, "memory" | "sqlite")
}

/// Whether the scheme names a server, with or without the feature that reaches it.
fn is_server(scheme: &str) -> bool {
    let base = scheme.split_once('+').map_or(scheme, |(base, _)| base);
    matches!(base, "postgres" | "postgresql" | "redis" | "rediss" | "valkey" | "valkeys")
}

/// An address without a host has its password in the place of a port. A port has digits.
fn without_odd_ports(base: &str) -> String {
    let (hosts, path) = base.split_at(base.find('/').unwrap_or(base.len()));
    let host = |host: &str| match host.split_once(':') {
        Some((name, port)) if !host.starts_with('[') && !port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{name}:***")
        }
        _ => host.to_owned(),
    };
    hosts.split(',').map(host).collect::<Vec<_>>().join(",") + path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "redis://user:canary@host:6379/0",
            "redis://:canary@host",
            "redis://canary@host",
            "rediss+sentinel://canary@a,b/name",
            "postgres://user:ca@canary/x@host/db",
            "postgres://host/db?password=canary&sslmode=canary",
            "redis+sentinel://u:canary@a,b,c/name",
            "redis:user:canary@host",
            "postgres:/user:canary@host/db",
            "postgres://user:can?canary@host/db",
            "postgres://user:canary?x@host/db?a=b@c",
            "postgres://host/db?user=a@b&password=canary",
            "postgres://user:canary/db",
            "postgres://a:5432,user:canary",
            "postgres://host/?dbname=a?password=canary",
            "postgres://host/?sslrootcert=a?password=canary",
            "bob:canary@host",
            "bob:canary",
            "postgres:host=h password=canary",
            "postgres:user=bob host=h password='canary'",
            "postgres+advisory:password=canary",
            "sqlite:redis://u:canary@h",
            "sqlite:postgres://host/db?password=canary",
            "sqlite:bob:canary@host",
            "sqlite://u:canary@h/db",
            "memory:u:canary@h",
            "memory://u:canary@h",
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert!(!url.to_string().contains("canary"), "{url}");
            assert!(!format!("{url:?}").contains("canary"), "{url:?}");
        }
    }

    #[test]
    fn what_is_no_password_is_shown() {
        for text in ["redis://a:1,b:2/0", "redis://[::1]:6379", "redis://[::1]", "sqlite:/a:b/c", "redis+cluster://a,b"]
        {
            assert_eq!(text.parse::<StoreUrl>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_url_is_refused_without_repeating_it() {
        for text in ["", "canary", ":canary", "/path/canary", "1x:canary", "sq lite:canary", "sqlite:a\0canary"] {
            let error = text.parse::<StoreUrl>().unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Configuration);
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }
}
