//! The stores that hold elections, and the contract that they keep.
//!
//! To support a new backend, implement [`Store`] and run the conformance suite (feature `conformance`) on it; every feature of
//! this crate then works on it. All that takes is here, so a store depends on no other crate of ours:
//!
//! | for | there is |
//! |---|---|
//! | the methods of the traits | [`async_trait`](macro@async_trait), [`stream`] and [`BoxStream`] |
//! | requests, answers and ids | the root of this module, [`mailbox`], [`ledger`] and [`pubsub`] |
//! | deciding elections in your own process | [`record::Record`], the rules that every store is held to |
//! | the same for messages and jobs | [`mailbox::MailboxRecord`], [`ledger::Ledger`] |
//! | hints and broadcasts | [`HintChannel`] and [`subscribers`], the fan-out to those who watch and listen |
//! | time and errors | [`Clock`], [`Backoff`], [`StoreError`] |
//!
//! [`open`] opens the store of an address.

use std::sync::Arc;

#[cfg(feature = "postgres")]
#[doc(inline)]
pub use tenure_postgres as postgres;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use tenure_redis as redis;
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use tenure_sqlite as sqlite;
#[doc(inline)]
pub use tenure_store::{
    Ack, AckReply, Backoff, BoxStream, Broadcast, Campaign, CampaignReply, CandidateId, Capabilities, Change,
    ChannelName, Clock, ElectionKey, ElectionName, Feature, Finding, Forgetting, Handover, Held, Hint, HintChannel,
    HintWatcher, Instant, Interest, JobLedger, JobName, Leader, Lease, LossReason, MAX_CHANNEL_BYTES, MAX_NAME_BYTES,
    Mailbox, MailboxPromises, MemoryStore, Message, MessageCount, MessageId, MessageState, Metadata, NameError,
    NameFault, Namespace, NewMessage, Nonce, Observation, OrderingKey, Priority, PriorityError, PubSub, PubSubEvent,
    PubSubPromises, RESERVATION, Receive, Received, Renew, RenewReply, Replies, Resign, Sender, Severity, StandBy,
    Store, StoreError, StoreErrorKind, StoreUrl, Term, Transition, Use, Variables, WOKEN_BY_RESIGNATION, WriteOutcome,
    async_trait, check_raise, ledger, mailbox, pubsub, random_message_id, record, stream, subscribers,
};

#[cfg(feature = "postgres")]
use self::postgres::{AdvisoryStore, PostgresConfig, PostgresStore};
#[cfg(feature = "redis")]
use self::redis::{RedisConfig, RedisStore};
#[cfg(feature = "sqlite")]
use self::sqlite::SqliteStore;

/// Opens the store behind a URL.
///
/// | URL | store |
/// |---|---|
/// | `sqlite:PATH` | a file, shared by the processes of one machine |
/// | `redis://HOST`, `rediss://HOST` | a Redis or Valkey server, plain or with TLS |
/// | `redis+sentinel://HOST,HOST/NAME` | the primary that sentinels know by this name |
/// | `redis+cluster://HOST,HOST` | a cluster |
/// | `postgres://HOST/DATABASE` | a table of PostgreSQL |
/// | `postgres+advisory://HOST/DATABASE` | advisory locks of PostgreSQL |
/// | `env:` | the Redis that the variables of `LeaderService` name, under its keys |
/// | `memory:` | a new [`MemoryStore`] of its own, for one client |
///
/// Two clients of `memory:` never meet, not even in one process: let them share a [`MemoryStore`] through
/// [`Client::with_store`](crate::Client::with_store).
///
/// # Errors
/// When the scheme is unknown, or the store cannot be opened. The message never shows a password.
pub fn open(url: &StoreUrl) -> Result<Arc<dyn Store>, StoreError> {
    open_with(url, &Variables::default())
}

/// Opens the store behind a URL, with these variables in place of those of the environment.
#[cfg_attr(
    not(any(feature = "redis", feature = "postgres")),
    expect(unused_variables, reason = "only addresses of servers are read with variables")
)]
fn open_with(url: &StoreUrl, variables: &Variables) -> Result<Arc<dyn Store>, StoreError> {
    match url.scheme() {
        "memory" if url.rest().is_empty() => Ok(Arc::new(MemoryStore::new())),
        // A name would promise that others of the same name meet there. It is not repeated: it may be a password.
        "memory" => Err(configuration(
            "the store address memory: takes nothing after the colon, because each client has a store of its own; to share \
             one within a process, pass clones of a MemoryStore to Client::with_store; between processes, use sqlite:PATH"
                .to_owned(),
        )),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(SqliteStore::open(sqlite::path_of(url.rest())?)?)),
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "valkey" | "valkeys" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster"
        | "rediss+cluster" => Ok(Arc::new(RedisStore::open(&RedisConfig::from_url(url)?)?)),
        #[cfg(feature = "redis")]
        "env" => match RedisConfig::from_environment_with(variables)? {
            Some(config) if url.rest().is_empty() => Ok(Arc::new(RedisStore::open(&config)?)),
            Some(_) => Err(configuration("the store address env: takes nothing after the colon".to_owned())),
            None => Err(configuration(
                "the store address env: asks for the Redis of the environment, and none of MUTEX_REDIS_HOST, REDIS_HOST, \
                 MUTEX_REDIS_SENTINEL_HOST and REDIS_SENTINEL_HOST is set"
                    .to_owned(),
            )),
        },
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => {
            Ok(Arc::new(PostgresStore::open(&PostgresConfig::from_url_with(url, variables)?)))
        }
        #[cfg(feature = "postgres")]
        "postgres+advisory" | "postgresql+advisory" => {
            Ok(Arc::new(AdvisoryStore::open(&PostgresConfig::from_url_with(url, variables)?)))
        }
        scheme => Err(configuration(format!(
            "unknown store scheme {scheme:?}; use one of {}",
            known_schemes()
        ))),
    }
}

/// Opens the store behind a URL for reading: unlike [`open`], it never creates a file.
///
/// # Errors
/// As [`open`], and when the file does not exist.
pub fn open_existing(url: &StoreUrl) -> Result<Arc<dyn Store>, StoreError> {
    open_existing_with(url, &Variables::default())
}

/// The same, with these variables in place of those of the environment.
pub(crate) fn open_existing_with(url: &StoreUrl, variables: &Variables) -> Result<Arc<dyn Store>, StoreError> {
    match url.scheme() {
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(SqliteStore::open_existing(sqlite::path_of(url.rest())?)?)),
        _ => open_with(url, variables),
    }
}

fn configuration(message: String) -> StoreError {
    StoreError::not_sent(StoreErrorKind::Configuration, message)
}

fn known_schemes() -> String {
    let sqlite = cfg!(feature = "sqlite").then_some("sqlite:PATH");
    let redis = match (cfg!(feature = "redis"), cfg!(feature = "redis-tls")) {
        (_, true) => Some("redis://HOST (also rediss, redis+sentinel, redis+cluster)"),
        (true, false) => Some("redis://HOST (also redis+sentinel, redis+cluster)"),
        (false, false) => None,
    };
    let postgres = cfg!(feature = "postgres").then_some("postgres://HOST/DATABASE (also postgres+advisory)");
    let env = cfg!(feature = "redis").then_some("env:");
    let known: Vec<&str> = sqlite.into_iter().chain(redis).chain(postgres).chain(env).chain(["memory:"]).collect();
    known.join(", ")
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_opened_tells_no_password() {
        for text in [
            "redis://user:canary@host:6379/0",
            "redis:user:canary@host",
            "redis+sentinel://u:canary@a,b,c/name",
            "postgres://user:ca@canary/x@host/db",
            "postgres://host/db?password=canary&sslmode=canary",
            "postgres:/user:canary@host/db",
            "postgres://user:can?canary@host/db",
            "postgres://a:5432,user:canary",
            "postgres:host=h password=canary",
            "postgres+advisory:password=canary",
            "bob:canary@host",
            "sqlite:redis://u:canary@h",
            "sqlite:bob:canary@host",
            "memory:u:canary@h",
        ] {
            let url: StoreUrl = text.parse().unwrap();
            let told = open(&url).map_or_else(|error| format!("{error} {error:?}"), |store| format!("{store:?}"));
            assert!(!told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn an_unknown_scheme_says_what_there_is() {
        let error = open(&"mongodb://host/db".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("mongodb") && error.contains("memory:"), "{error}");
    }

    #[test]
    fn a_memory_store_has_no_name() {
        for text in ["memory:shared", "memory://", "memory: "] {
            let error = open(&text.parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Configuration);
            assert!(error.to_string().contains("Client::with_store"), "{error}");
        }
    }
}
