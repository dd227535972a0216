//! Settings from an address and the environment, by the names that PostgreSQL's own clients use.

use std::collections::BTreeMap;

use tenure_store::StoreUrl;
use tenure_store::remote::raw_url::{RawUrl, decoded};

use super::environment::Environment;

/// The options of an address, and their names in the environment.
const OPTIONS: &[(&str, Option<&str>)] = &[
    ("application_name", Some("PGAPPNAME")),
    ("channel_binding", Some("PGCHANNELBINDING")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("dbname", Some("PGDATABASE")),
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("keepalives", None),
    ("keepalives_count", None),
    ("keepalives_idle", None),
    ("keepalives_interval", None),
    ("load_balance_hosts", Some("PGLOADBALANCEHOSTS")),
    ("options", Some("PGOPTIONS")),
    ("passfile", Some("PGPASSFILE")),
    ("password", Some("PGPASSWORD")),
    ("port", Some("PGPORT")),
    ("schema", None),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("tcp_user_timeout", None),
    ("user", Some("PGUSER")),
];

/// The settings: the address comes first, then the environment.
pub(super) struct UrlSettings<'a> {
    raw_url: BTreeMap<&'static str, String>,
    pub(super) environment: &'a dyn Environment,
}

/// A setting, and its source. It may be a password, and so cannot be printed.
pub(super) struct Setting {
    pub(super) value: String,
    /// The name of the option or of the variable.
    pub(super) source: &'static str,
}

impl<'a> UrlSettings<'a> {
    /// Parses an address; errors describe the mistake without repeating the address.
    pub(super) fn of(url: &StoreUrl, environment: &'a dyn Environment) -> Result<Self, String> {
        let raw_url = RawUrl::of(url)?;
        let mut settings = Self { raw_url: BTreeMap::new(), environment };
        let (user, password) = raw_url.login()?;
        let (hosts, ports) = hosts_and_ports(raw_url.hosts)?;
        let path = Some(decoded(raw_url.path)?);
        for (name, value) in
            [("user", user), ("password", password), ("host", hosts), ("port", ports), ("dbname", path)]
        {
            settings.take(name, value.unwrap_or_default())?;
        }
        // As everywhere with PostgreSQL, options count more than what stands before them.
        for (name, value) in raw_url.options() {
            settings.take(name, decoded(value)?)?;
        }
        if environment.variable("PGSERVICE").is_some() {
            return Err(format!("PGSERVICE is set, and {NO_SERVICES}"));
        }
        Ok(settings)
    }

    /// An empty value counts as missing.
    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "sslpassword" => {
                return Err("sslpassword: encrypted keys are not supported; decrypt the key (openssl pkey)".to_owned());
            }
            "service" | "servicefile" => return Err(format!("{name}: {NO_SERVICES}")),
            _ => {}
        }
        let Some((name, _)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!("it has an unknown option; known are {}", names.join(", ")));
        };
        if value.contains('\0') {
            return Err(format!("{name}: it contains a NUL"));
        }
        if !value.is_empty() {
            self.raw_url.insert(name, value);
        }
        Ok(())
    }

    /// The value of this setting, and its source.
    pub(super) fn get(&self, name: &'static str) -> Option<Setting> {
        if let Some(value) = self.raw_url.get(name) {
            return Some(Setting { value: value.clone(), source: name });
        }
        let source = OPTIONS.iter().find(|(known, _)| *known == name)?.1?;
        self.environment.variable(source).map(|value| Setting { value, source })
    }

    /// The same without its source.
    pub(super) fn value(&self, name: &'static str) -> Option<String> {
        self.get(name).map(|setting| setting.value)
    }

    /// The value of a setting with a fixed set of choices.
    pub(super) fn choice<T: Copy>(&self, name: &'static str, choices: &[(&str, T)]) -> Result<Option<T>, String> {
        let Some(Setting { value, source }) = self.get(name) else { return Ok(None) };
        let found = choices.iter().find(|(choice, _)| *choice == value);
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            format!("{source} must be one of {}", words.join(", "))
        })
    }

    /// The value of a numeric setting.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<i32>, String> {
        let Some(Setting { value, source }) = self.get(name) else { return Ok(None) };
        value.trim().parse().map(Some).map_err(|_| format!("{source} must be a number"))
    }
}

const NO_SERVICES: &str = "service files are not supported; write the settings of the service into the address";

/// Converts `HOST:PORT,HOST:PORT` to the options `host` and `port`.
fn hosts_and_ports(text: &str) -> Result<(Option<String>, Option<String>), String> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for place in text.split(',') {
        let is_bare = !place.contains(':') || place.ends_with(']');
        let (host, port) = if is_bare { (place, "") } else { place.rsplit_once(':').unwrap_or((place, "")) };
        let host = match host.strip_prefix('[') {
            Some(host) => host.strip_suffix(']').ok_or("an IPv6 address must be in brackets, as in [::1]:5432")?,
            None if host.contains(':') => {
                return Err("an IPv6 address must be in brackets, as in [::1]:5432".to_owned());
            }
            None => host,
        };
        hosts.push(decoded(host)?);
        ports.push(port);
    }
    let setting = |texts: String| Some(texts).filter(|texts| texts.contains(|c| c != ','));
    Ok((setting(hosts.join(",")), setting(ports.join(","))))
}

#[cfg(test)]
mod tests {
    use super::super::environment::made_up::FakeEnvironment;
    use super::*;

    #[test]
    fn the_address_counts_more_than_the_environment_and_options_more_than_what_precedes_them() {
        let environment =
            FakeEnvironment::new(&[("PGUSER", "env"), ("PGPORT", "1"), ("PGDATABASE", "env"), ("PGHOST", "env")]);
        for (url, expected) in [
            ("postgres://", ["env", "env", "1", "env"]),
            ("postgres://u@h:2/d", ["u", "h", "2", "d"]),
            ("postgresql://u@h:2/d?user=v&host=i&port=3&dbname=e", ["v", "i", "3", "e"]),
            ("postgres+advisory://a:2,[::1],%2Frun%2Fx:3", ["env", "a,::1,/run/x", "2,,3", "env"]),
            ("postgres://:5433/", ["env", "env", "5433", "env"]),
            ("postgres:///?user=", ["env", "env", "1", "env"]),
        ] {
            let settings = UrlSettings::of(&url.parse().unwrap(), &environment).unwrap();
            let setting = ["user", "host", "port", "dbname"].map(|name| settings.value(name).unwrap_or_default());
            assert_eq!(setting, expected, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_values() {
        for (url, why) in [
            ("postgres:canary", "two slashes"),
            ("postgres://canary::1:5", "brackets"),
            ("postgres://[canary/x", "brackets"),
            ("postgres:///?canary=1", "known are application_name, channel_binding"),
            ("postgres:///?sslpassword=canary", "openssl pkey"),
            ("postgres:///?service=canary", "service files"),
            ("postgres:///?user=canary%00", "NUL"),
            ("postgres:///?user=canary%FF", "UTF-8"),
            ("postgres:///?dbname=a?password=canary", "%3F"),
        ] {
            let error = UrlSettings::of(&url.parse().unwrap(), &FakeEnvironment::default()).err();
            let error = error.unwrap_or_else(|| panic!("{url} was accepted"));
            assert!(error.contains(why) && !error.contains("canary"), "{url}: {error}");
        }
        let error =
            UrlSettings::of(&"postgres://".parse().unwrap(), &FakeEnvironment::new(&[("PGSERVICE", "canary")])).err();
        assert!(error.is_some_and(|error| error.contains("PGSERVICE") && !error.contains("canary")));
    }

    #[test]
    fn choices_and_numbers_name_who_said_them() {
        let environment = FakeEnvironment::new(&[("PGSSLMODE", "canary"), ("PGCONNECT_TIMEOUT", "canary")]);
        let settings = UrlSettings::of(&"postgres://?keepalives=7".parse().unwrap(), &environment).unwrap();
        assert_eq!(settings.choice("sslmode", &[("a", 1), ("b", 2)]), Err("PGSSLMODE must be one of a, b".to_owned()));
        assert_eq!(settings.number("connect_timeout"), Err("PGCONNECT_TIMEOUT must be a number".to_owned()));
        assert_eq!(settings.number("keepalives"), Ok(Some(7)));
        assert_eq!(settings.choice("channel_binding", &[("a", 1)]), Ok(None));
    }
}
