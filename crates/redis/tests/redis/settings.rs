//! Addresses, names of keys, and what is never shown of them.

use tenure::store::redis::{RedisConfig, RedisStore};
use tenure::store::{Store, StoreErrorKind};
use tenure::{StoreError, StoreUrl};
use tenure_core::WriteOutcome;
use tenure_testkit::redis::{RedisOptions, RedisServer};

use crate::support::{StoreCandidate, assert_told, key, open};

#[tokio::test]
async fn a_client_of_the_application_is_used_as_it_is() {
    let server = RedisServer::start_with(RedisOptions::default().password("canary"));
    let client = redis::Client::open(format!("{}/3", server.url())).unwrap();
    let config = RedisConfig::from_client(client.clone()).prefix("app").key_pattern("{prefix}:leader:{name}");
    assert!(!format!("{config:?}").contains("canary"), "{config:?}");
    let store: std::sync::Arc<dyn Store> = std::sync::Arc::new(RedisStore::open(&config).unwrap());
    assert!(!format!("{store:?}").contains("canary"), "{store:?}");
    StoreCandidate::new(&store, "mix", "a").granted().await;
    assert_eq!(
        keys_in(&server, 3),
        ["app::elections:default", "app:leader:mix", "{app:leader:mix}:election", "{app:leader:mix}:history"]
    );

    let plain: std::sync::Arc<dyn Store> = std::sync::Arc::new(RedisStore::from_client(client).unwrap());
    StoreCandidate::new(&plain, "mix", "a").granted().await;
    assert!(keys_in(&server, 3).contains(&"tenure:default:mix".to_owned()));
}

#[tokio::test]
async fn keys_are_named_as_the_pattern_says() {
    let server = RedisServer::start();
    for (options, name, lease) in [
        ("", "e", "tenure:default:e"),
        ("?prefix=mine", "e", "mine:default:e"),
        ("?key_pattern=%7Bname%7D", "my-app:cron-leader", "my-app:cron-leader"),
        ("?prefix=app&key_pattern={prefix}:leader:{name}", "mix", "app:leader:mix"),
        ("?key_pattern={{tag}}:{namespace}:{name}", "e", "{tag}:default:e"),
    ] {
        let candidate = StoreCandidate::new(&open(&format!("{}{options}", server.url())), name, "somebody");
        candidate.granted().await;
        let value: String = redis::from_redis_value(server.command(&["GET", lease])).unwrap();
        assert_eq!(value, "somebody", "{lease}");
        server.command(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn prefixes_and_databases_keep_elections_apart() {
    let server = RedisServer::start();
    let urls = ["", "/1", "?prefix=other", "/1?prefix=other"].map(|ending| format!("{}{ending}", server.url()));
    for url in &urls {
        let candidate = StoreCandidate::new(&open(url), "e", "a");
        candidate.granted().await;
        assert_eq!(candidate.store.elections(&key("e").namespace).await.unwrap(), [key("e").name]);
    }
    assert_eq!([keys_in(&server, 0).len(), keys_in(&server, 1).len()], [8, 8]);
}

#[test]
fn addresses_that_can_be_used() {
    for url in [
        "redis://host",
        "redis://host/",
        "redis://host:1/2",
        "redis://[::1]:1/",
        "redis://user:pass%40word@host/0?protocol=resp3",
        "valkey://host",
        "redis+sentinel://:password@a,b:1,c/name/2?sentinel_user=x&sentinel_password=y",
        "redis+cluster://a,b:2/0?prefix=x",
        "rediss://host",
        "rediss+cluster://host",
    ] {
        let config = RedisConfig::from_url(&url.parse().unwrap()).unwrap_or_else(|error| panic!("{url}: {error}"));
        RedisStore::open(&config).unwrap_or_else(|error| panic!("{url}: {error}"));
    }
}

#[test]
fn addresses_that_cannot_be_used_say_why_and_keep_the_password() {
    for (url, why) in [
        ("redis:host", "two slashes"),
        ("redis://:canary@/", "names no host"),
        ("redis://:canary@host:port", "followed by a port number"),
        ("redis://:canary@a,b", "several hosts"),
        ("redis://:canary@host/x", "database"),
        ("redis+sentinel://:canary@host", "/mymaster"),
        ("redis+cluster://:canary@host/1", "only the database 0"),
        ("redis://:canary@host?prefx=canary", "an unknown option; known are prefix"),
        ("redis://:canary@host?protocol=canary", "resp2 or resp3"),
        ("redis://:canary@host?wait_replicas=canary", "wait_replicas"),
        ("redis://:canary@host?key_pattern={nam}", "key pattern"),
        ("redis://:canary@host?key_pattern=fixed", "{name} once"),
        ("redis://:canary@host?prefix={x}", "without braces"),
        ("redis://:canary@host?tls_ca=/dev/null", "rediss"),
        ("rediss://:canary@host?tls_ca=/no/such/file", "the file of tls_ca: No such file"),
        ("rediss://:canary@host?tls_cert=/dev/null", "must be given together"),
        ("redis://us%FFer:canary@host", "UTF-8"),
    ] {
        let error = refusal(&url.parse().unwrap());
        assert_told(&error, StoreErrorKind::Configuration, WriteOutcome::NotSent, &[why]);
        assert!(!format!("{error} {error:?}").contains("canary"), "{url}: {error:?}");
    }
}

#[tokio::test]
async fn an_error_of_a_connection_keeps_the_password() {
    let server = RedisServer::start();
    let url = format!("redis://user:canary@{}", server.address());
    server.kill();
    let candidate = StoreCandidate::new(&open(&url), "e", "a");
    let error = candidate.refused().await;
    assert_told(
        &error,
        StoreErrorKind::Unavailable,
        WriteOutcome::NotSent,
        &["cannot connect", &server.address().to_string()],
    );
    assert!(!format!("{error} {error:?} {:?}", candidate.store).contains("canary"), "{error:?}");
}

fn refusal(url: &StoreUrl) -> StoreError {
    tenure::store::open(url).map(|store| format!("{store:?}")).expect_err("this address cannot be used")
}

fn keys_in(server: &RedisServer, database: i64) -> Vec<String> {
    let mut connection = server.connection();
    redis::cmd("SELECT").arg(database).exec(&mut connection).unwrap();
    let mut keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    keys.sort();
    keys
}
