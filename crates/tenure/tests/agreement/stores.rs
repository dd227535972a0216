//! The same requests, drawn from a seed, are put to every store, and have to get the same answers from each of them.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tenure::store::postgres::{Migration, PostgresConfig, PostgresStore};
use tenure::store::redis::{RedisConfig, RedisStore};
use tenure::store::sqlite::SqliteStore;
use tenure::store::{Campaign, ElectionKey, MemoryStore, Resign, Store};
use tenure_core::{CampaignReply, CandidateId, ElectionName, LossReason, Namespace, Nonce, Priority, Term};
use tenure_testkit::postgres::PostgresServer;
use tenure_testkit::redis::RedisServer;

/// One store of each kind, the reference first, and what they live in.
pub(crate) struct Stores {
    pub(crate) all: Vec<Arc<dyn Store>>,
    _directory: TempDir,
    _redis: RedisServer,
    _postgres: PostgresServer,
}

impl Stores {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let redis = RedisServer::start();
        let config = RedisConfig::from_url(&redis.url().parse().unwrap()).unwrap();
        let postgres = PostgresServer::start();
        let lease = PostgresConfig::from_url(&postgres.url().parse().unwrap()).unwrap();
        Migration::new(&lease).run().await.unwrap();
        let all: Vec<Arc<dyn Store>> = vec![
            Arc::new(MemoryStore::new()),
            Arc::new(SqliteStore::open(directory.path().join("stores.db")).unwrap()),
            Arc::new(RedisStore::open(&config).unwrap()),
            Arc::new(PostgresStore::open(&lease)),
        ];
        Self { all, _directory: directory, _redis: redis, _postgres: postgres }
    }
}

pub(crate) struct AgreementWorld<'a> {
    pub(crate) stores: &'a [Arc<dyn Store>],
    pub(crate) key: ElectionKey,
    chance: u64,
    players: [AgreementPlayer; 2],
    log: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct AgreementPlayer {
    pub(crate) candidate: CandidateId,
    pub(crate) nonce: Nonce,
    leads: bool,
    /// The last grant of each store.
    pub(crate) terms: Vec<Term>,
}

impl<'a> AgreementWorld<'a> {
    pub(crate) fn new(stores: &'a [Arc<dyn Store>], seed: u64) -> Self {
        let terms = vec![Term::new(1).unwrap(); stores.len()];
        let player = |number: u128| AgreementPlayer {
            candidate: CandidateId::new(format!("candidate {number}")).unwrap(),
            nonce: Nonce::from_bits(number),
            leads: false,
            terms: terms.clone(),
        };
        Self {
            stores,
            key: ElectionKey {
                namespace: Namespace::default(),
                name: ElectionName::new(format!("seed {seed}")).unwrap(),
            },
            chance: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            players: [player(1), player(2)],
            log: vec![format!("seed {seed}")],
        }
    }

    /// Whoever leads resigns, and otherwise somebody begins to. Nobody stands by, so nothing depends on time.
    pub(crate) async fn change_leader(&mut self) {
        let (key, reason) = (self.key.clone(), LossReason::Resigned);
        if let Some(leader) = self.players.iter_mut().find(|player| player.leads) {
            leader.leads = false;
            let request = Resign { key, nonce: leader.nonce, term: None, successor: None, reason };
            for store in self.stores {
                store.resign(std::slice::from_ref(&request)).await.remove(0).unwrap();
            }
            return;
        }
        let chosen = usize::try_from(self.below(2)).unwrap();
        let request = Campaign {
            key,
            candidate: self.players[chosen].candidate.clone(),
            nonce: self.players[chosen].nonce,
            ttl: Duration::from_secs(3_600),
            priority: Priority::MAX,
            metadata: Arc::default(),
            stand_by_for: Duration::from_secs(3_600),
        };
        let mut terms = Vec::new();
        for store in self.stores {
            let reply = store.campaign(std::slice::from_ref(&request)).await.remove(0).unwrap();
            terms.extend(match reply {
                CampaignReply::Granted { term } => Some(term),
                CampaignReply::Held(_) => None,
            });
        }
        assert_eq!(terms.len(), self.stores.len(), "the lease is free");
        self.players[chosen] = AgreementPlayer { leads: true, terms, ..self.players[chosen].clone() };
    }

    /// The answer of all.
    #[track_caller]
    pub(crate) fn agreed<T: PartialEq + Debug>(&mut self, asked: &str, mut answers: Vec<T>) -> T {
        self.log.push(format!("{asked}: {:?}", answers[0]));
        for (store, answer) in self.stores.iter().zip(&answers) {
            assert_eq!(*answer, answers[0], "{} after\n{}", store.capabilities().name, self.log.join("\n"));
        }
        answers.remove(0)
    }

    /// Somebody who asks.
    pub(crate) fn player(&mut self) -> AgreementPlayer {
        // Mostly whoever leads: the others are told nothing.
        let chosen = usize::try_from(self.below(2)).unwrap();
        let leader = self.players.iter().position(|player| player.leads);
        let chosen = if self.below(4) == 0 { chosen } else { leader.unwrap_or(chosen) };
        self.players[chosen].clone()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance >> 16) % limit
    }
}
