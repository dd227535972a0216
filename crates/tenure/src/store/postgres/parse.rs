//! From an address to a configuration.

use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;

use super::super::StoreUrl;
use super::config::{PostgresConfig, SCHEMA};
use super::identifier::Identifier;
use super::tls::Encryption;

/// Reads an address, or says what is wrong with it without showing it.
pub(super) fn url(url: &StoreUrl) -> Result<PostgresConfig, String> {
    let rest = url.rest();
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut schema = SCHEMA.to_owned();
    let mut passed_on = Vec::new();
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "schema" => schema = decoded(value)?,
            "sslmode" => {}
            _ => passed_on.push(option),
        }
    }
    let driver = Config::from_str(&format!("postgres:{base}?{}", passed_on.join("&")))
        .map_err(|_| "it is not of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE".to_owned())?;
    let schema = Identifier::new(&schema).map_err(|why| format!("the schema: {why}"))?;
    Ok(PostgresConfig::of(driver, Encryption::Off, schema))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| "a part of it is not UTF-8 when %XX is decoded".to_owned())
}
