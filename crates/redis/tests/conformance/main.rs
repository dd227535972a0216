//! The Redis store passes the same suite as every other store, on each kind of servers that it can be pointed at.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that fails panics")]

mod keyspace;
mod rights;
mod rules;

use std::sync::LazyLock;

use tenure_testkit::certificates::Certificates;
use tenure_testkit::redis::{Flavour, RedisCluster, RedisOptions, RedisServer, SentinelGroup, TlsClients};

use self::keyspace::{PropertyPace, every_property_holds};

static REDIS: LazyLock<RedisServer> = LazyLock::new(RedisServer::start);

#[test]
fn on_redis_with_resp2() {
    every_property_holds(&REDIS.url(), &["protocol=resp2"], PropertyPace::Brisk);
}

#[test]
fn on_redis_with_resp3() {
    every_property_holds(&REDIS.url(), &["protocol=resp3"], PropertyPace::Brisk);
}

#[test]
fn on_valkey() {
    every_property_holds(&RedisServer::start_with(RedisOptions::new(Flavour::Valkey)).url(), &[], PropertyPace::Brisk);
}

#[test]
fn on_a_primary_with_sentinels() {
    let sentinels = SentinelGroup::start().steady();
    every_property_holds(&sentinels.url(), &[], PropertyPace::Brisk);
}

#[test]
fn on_a_cluster() {
    let cluster = RedisCluster::start().steady();
    every_property_holds(&cluster.url(), &[], PropertyPace::Calm);
}

#[test]
fn on_an_encrypted_server_that_demands_certificates() {
    let certificates = Certificates::new();
    let (authority, client) = (certificates.authority(), certificates.client("candidate"));
    let options = RedisOptions::default().tls(&certificates.server(), authority, TlsClients::MustBeSigned);
    let server = RedisServer::start_with(options);
    let files = [("tls_ca", &authority.certificate), ("tls_cert", &client.certificate), ("tls_key", &client.key)];
    let files = files.map(|(name, path)| format!("{name}={}", path.display()));
    every_property_holds(&server.url(), &files.each_ref().map(String::as_str), PropertyPace::Calm);
}

#[test]
fn as_a_user_with_the_fewest_rights() {
    let server = rights::server_with_user(rights::NEEDED);
    every_property_holds(&server.url_as(rights::USER, rights::PASSWORD), &[], PropertyPace::Brisk);
}

/// Those of the page are typed in by the tests of the command, and are the ones that the tests here hold to be needed.
#[test]
fn operators_are_told_these_rights() {
    let blocks = tenure_pages::blocks_of("docs/operations.md", "sh");
    let commands = blocks.iter().flat_map(|block| tenure_pages::commands(block));
    let told: Vec<Vec<String>> = commands.filter(|words| words.iter().any(|word| word == "SETUSER")).collect();
    let [told] = &told[..] else { panic!("not one list of rights, but {told:?}") };
    let told: Vec<&str> = told.iter().map(String::as_str).skip_while(|word| !word.starts_with('>')).skip(1).collect();
    assert_eq!(told, rights::NEEDED.split_whitespace().collect::<Vec<_>>());
}
