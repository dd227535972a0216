//! Parses an address into a configuration.

use std::time::Duration;

use tenure_store::StoreUrl;
use tokio_postgres::Config;
use tokio_postgres::config::ChannelBinding;

use super::super::config::{PostgresConfig, SCHEMA};
use super::super::identifier::Identifier;
use super::certificates::are_named;
use super::environment::Environment;
use super::hosts::places;
use super::passfile::Passfile;
use super::server::{ServerAddress, template};
use super::settings::UrlSettings;
use super::tls::{Encryption, Mode, encryption};

/// Parses an address in this environment; errors describe the mistake without showing passwords.
pub(crate) fn url(url: &StoreUrl, environment: &dyn Environment) -> Result<PostgresConfig, String> {
    let settings = UrlSettings::of(url, environment)?;
    let schema = settings.value("schema").unwrap_or_else(|| SCHEMA.to_owned());
    let schema = Identifier::new(&schema).map_err(|why| format!("the schema: {why}"))?;
    let mut warnings = Vec::new();
    let servers = servers(&settings, &mut warnings)?;
    // All hosts are asked at once, so there is no order to be changed.
    settings.choice("load_balance_hosts", &[("disable", ()), ("random", ())])?;
    Ok(PostgresConfig::of(servers, schema, warnings))
}

fn servers(settings: &UrlSettings<'_>, warnings: &mut Vec<String>) -> Result<Vec<ServerAddress>, String> {
    refuse_standbys(settings)?;
    let mut template = applied(settings)?;
    let user = settings.value("user").or_else(|| settings.environment.user());
    let user = user.ok_or("it names no user, and the name of the current user is unknown")?;
    let database = settings.value("dbname").unwrap_or_else(|| user.clone());
    template.user(&user).dbname(&database);

    let places = places(settings)?;
    let setting = Mode::setting(settings)?.or_else(|| are_named(settings).then_some(Mode::VerifyFull));
    let modes: Vec<Mode> = places.iter().map(|place| Mode::at(place, setting)).collect();
    // Those that are encrypted are so in the same way.
    let mode = modes.iter().copied().find(|mode| *mode != Mode::Disable).unwrap_or(Mode::Disable);
    let encryption = encryption(mode, settings, warnings)?;

    let password = settings.value("password");
    let passfile = if password.is_none() { Passfile::read(settings, warnings) } else { Passfile::default() };
    let server = |(place, mode): (_, Mode)| {
        let mut template = template.clone();
        if let Some(password) = password.as_deref().or_else(|| passfile.password(place, &database, &user)) {
            template.password(password);
        }
        let encryption = if mode == Mode::Disable { Encryption::Off } else { encryption.clone() };
        ServerAddress::new(&template, place, encryption)
    };
    places.iter().zip(modes).map(server).collect()
}

/// Elections need a server that takes writes, so a standby cannot be requested.
fn refuse_standbys(settings: &UrlSettings<'_>) -> Result<(), String> {
    let Some(setting) = settings.get("target_session_attrs") else { return Ok(()) };
    match setting.value.as_str() {
        "any" | "read-write" | "primary" => Ok(()),
        "read-only" | "standby" | "prefer-standby" => {
            Err(format!("{}: elections are held on the primary, and never on a standby; use primary", setting.source))
        }
        _ => Err(format!("{} must be one of any, read-write, primary", setting.source)),
    }
}

/// Applies the settings of connections.
fn applied(settings: &UrlSettings<'_>) -> Result<Config, String> {
    let mut config = template();
    if let Some(name) = settings.value("application_name") {
        config.application_name(name);
    }
    if let Some(options) = settings.value("options") {
        config.options(options);
    }
    let bindings = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
    if let Some(binding) = settings.choice("channel_binding", &bindings)? {
        config.channel_binding(binding);
    }
    if let Some(on) = settings.number("keepalives")? {
        config.keepalives(on != 0);
    }
    // As with PostgreSQL's own clients, zero and less stand for what is usual.
    let positive = |name: &'static str| {
        let number = settings.number(name)?;
        Ok::<_, String>(number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0))
    };
    let seconds = |number: u32| Duration::from_secs(u64::from(number));
    if let Some(idle) = positive("keepalives_idle")? {
        config.keepalives_idle(seconds(idle));
    }
    if let Some(interval) = positive("keepalives_interval")? {
        config.keepalives_interval(seconds(interval));
    }
    if let Some(count) = positive("keepalives_count")? {
        config.keepalives_retries(count);
    }
    if let Some(milliseconds) = positive("tcp_user_timeout")? {
        config.tcp_user_timeout(Duration::from_millis(u64::from(milliseconds)));
    }
    if let Some(timeout) = positive("connect_timeout")? {
        config.connect_timeout(seconds(timeout));
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::super::environment::made_up::FakeEnvironment;
    use super::*;

    fn read(text: &str, environment: &FakeEnvironment) -> Result<PostgresConfig, String> {
        url(&text.parse().map_err(|_| "not an address")?, environment)
    }

    fn config(text: &str, environment: &FakeEnvironment) -> Config {
        let read = read(text, environment).unwrap_or_else(|why| panic!("{text}: {why}"));
        read.servers[0].config.clone()
    }

    #[test]
    fn addresses_mean_what_people_expect() {
        for (text, place) in [
            ("postgres://db/shop", "db:5432/shop"),
            ("postgresql://app@db", "db:5432/app"),
            ("postgres+advisory://app:secret@a:1,b:2/shop", "a:1,b:2/shop"),
            ("postgres://[::1]:7/shop", "[::1]:7/shop"),
            ("postgres:///shop?host=/run/postgresql", "/run/postgresql:5432/shop"),
            ("postgres://%2Frun%2Fpostgresql/sh%20op", "/run/postgresql:5432/sh op"),
            ("postgres://db?hostaddr=192.0.2.1", "db:5432/me"),
            ("postgres://", "localhost:5432/me"),
        ] {
            assert_eq!(read(text, &FakeEnvironment::default()).unwrap().place(), place, "{text}");
        }
    }

    #[test]
    fn variables_count_where_the_address_is_silent() {
        let environment = FakeEnvironment::new(&[
            ("PGUSER", "env-user"),
            ("PGPASSWORD", "env-password"),
            ("PGAPPNAME", "env-name"),
            ("PGOPTIONS", "-c env=1"),
            ("PGCONNECT_TIMEOUT", "7"),
            ("PGCHANNELBINDING", "disable"),
            ("PGTARGETSESSIONATTRS", "any"),
            ("PGSSLMODE", "disable"),
        ]);
        let from_variables = config("postgres://db", &environment);
        assert_eq!(from_variables.get_user(), Some("env-user"));
        assert_eq!(from_variables.get_dbname(), Some("env-user"));
        assert_eq!(from_variables.get_password(), Some(b"env-password".as_slice()));
        assert_eq!(from_variables.get_application_name(), Some("env-name"));
        assert_eq!(from_variables.get_options(), Some("-c env=1"));
        assert_eq!(from_variables.get_connect_timeout(), Some(&Duration::from_secs(7)));
        assert_eq!(from_variables.get_channel_binding(), ChannelBinding::Disable);
        assert_eq!(from_variables.get_ssl_mode(), SslMode::Disable);
        let text = "postgres://u:p@db/d?application_name=n&options=-c%20x%3D1&connect_timeout=0&channel_binding=require\
                    &sslmode=verify-full&keepalives=0&keepalives_idle=8&keepalives_interval=9&keepalives_count=2\
                    &tcp_user_timeout=1500&target_session_attrs=primary&load_balance_hosts=random";
        let raw_url = config(text, &environment);
        assert_eq!((raw_url.get_user(), raw_url.get_dbname()), (Some("u"), Some("d")));
        assert_eq!(raw_url.get_password(), Some(b"p".as_slice()));
        assert_eq!((raw_url.get_application_name(), raw_url.get_options()), (Some("n"), Some("-c x=1")));
        assert_eq!(raw_url.get_connect_timeout(), None);
        assert_eq!(raw_url.get_channel_binding(), ChannelBinding::Require);
        assert_eq!(raw_url.get_ssl_mode(), SslMode::Require);
        assert!(!raw_url.get_keepalives());
        assert_eq!(raw_url.get_keepalives_idle(), Duration::from_secs(8));
        assert_eq!(raw_url.get_keepalives_interval(), Some(Duration::from_secs(9)));
        assert_eq!(raw_url.get_keepalives_retries(), Some(2));
        assert_eq!(raw_url.get_tcp_user_timeout(), Some(&Duration::from_millis(1500)));
    }

    #[test]
    fn a_connection_is_encrypted_unless_it_stays_on_the_machine() {
        for (text, modes) in [
            ("postgres://db", vec![SslMode::Require]),
            ("postgres://localhost", vec![SslMode::Disable]),
            ("postgres://db,127.0.0.1,%2Frun", vec![SslMode::Require, SslMode::Disable, SslMode::Disable]),
            ("postgres://db?sslmode=disable", vec![SslMode::Disable]),
            ("postgres://db?sslmode=require", vec![SslMode::Require]),
            ("postgres://[::1],%2Frun?sslmode=verify-full", vec![SslMode::Require, SslMode::Disable]),
            // Whoever names certificates means to use them.
            ("postgres://localhost?sslrootcert=system", vec![SslMode::Require]),
        ] {
            let servers = read(text, &FakeEnvironment::default()).unwrap().servers;
            assert_eq!(servers.iter().map(|server| server.config.get_ssl_mode()).collect::<Vec<_>>(), modes, "{text}");
        }
    }

    #[test]
    fn a_server_that_anybody_could_be_is_worth_a_warning() {
        let warnings = |text| read(text, &FakeEnvironment::default()).map(|config| config.warnings().to_vec());
        assert!(warnings("postgres://db?sslmode=require").unwrap()[0].contains("trusts any server"));
        assert_eq!(warnings("postgres://db"), Ok(vec![]));
        assert_eq!(warnings("postgres://%2Frun?sslmode=require"), Ok(vec![]));
    }

    #[test]
    fn each_host_has_its_own_password() {
        let environment = FakeEnvironment::default().file("/me/.pgpass", 0o600, "a:*:*:*:one\nb:2:shop:me:two\n");
        let passwords = |text| {
            let servers = read(text, &environment).unwrap_or_else(|why| panic!("{text}: {why}")).servers;
            let password = |server: &ServerAddress| server.config.get_password().map(<[u8]>::to_vec);
            servers.iter().map(password).collect::<Vec<_>>()
        };
        let [one, two, setting] = ["one", "two", "said"].map(|text| Some(text.as_bytes().to_vec()));
        assert_eq!(passwords("postgres://a,b:2,c/shop"), [one, two, None]);
        assert_eq!(passwords("postgres://a,b:2/shop?password=said"), [setting.clone(), setting]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, why) in [
            ("postgres://db?sslmode=prefer", "verify-full"),
            ("postgres://db?sslmode=allow", "verify-full"),
            ("postgres://db?sslmode=canary", "sslmode must be one of disable, require, verify-ca, verify-full"),
            ("postgres://db?sslmode=verify-ca", "needs sslrootcert"),
            ("postgres://db?sslmode=verify-ca&sslrootcert=system", "needs sslrootcert"),
            ("postgres://db?sslmode=require&sslrootcert=system", "needs sslmode=verify-full"),
            ("postgres://db?sslrootcert=/nowhere", "cannot read /nowhere, the file of sslrootcert"),
            ("postgres://db?sslrootcert=/text", "/text (sslrootcert) contains no PEM certificates"),
            ("postgres://db?sslcert=/text", "must be given together"),
            ("postgres://db?sslkey=/text", "must be given together"),
            ("postgres://db?sslcert=/text&sslkey=/text", "/text (sslcert) contains no PEM certificates"),
            ("postgres://%5Bx%5D/", "no certificate can be for"),
            ("postgres://db?target_session_attrs=standby", "never on a standby"),
            ("postgres://db?target_session_attrs=read-only", "never on a standby"),
            ("postgres://db?target_session_attrs=canary", "must be one of any, read-write, primary"),
            ("postgres://localhost?channel_binding=require", "encrypted"),
            ("postgres://db?channel_binding=canary", "channel_binding must be one of"),
            ("postgres://db?load_balance_hosts=canary", "load_balance_hosts must be one of"),
            ("postgres://db?connect_timeout=canary", "connect_timeout must be a number"),
            ("postgres://db?tcp_user_timeout=canary", "tcp_user_timeout must be a number"),
            ("postgres://db?schema=canaryxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "63 bytes"),
        ] {
            let environment = FakeEnvironment::default().file("/text", 0o600, "canary");
            let error = read(text, &environment).err().unwrap_or_else(|| panic!("{text} was accepted"));
            assert!(error.contains(why) && !error.contains("canary"), "{text}: {error}");
        }
    }

    #[test]
    fn no_password_is_ever_shown() {
        let environment = FakeEnvironment::new(&[("PGPASSWORD", "canary")]).file("/p", 0o644, "*:*:*:*:canary");
        for text in [
            "postgres://user:canary@db",
            "postgres://db?password=canary",
            "postgres://db",
            "postgres://db?passfile=/p",
            "postgres://db:canary",
            "postgres://user:canary@db?sslmode=prefer",
        ] {
            let shown = match read(text, &environment) {
                Ok(config) => format!("{config:?} {} {:?}", config.place(), config.warnings()),
                Err(error) => error,
            };
            assert!(!shown.contains("canary"), "{text}: {shown}");
        }
    }
}
