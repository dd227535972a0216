//! All mailboxes keep the same rules: the same requests, drawn from a seed, get the same answers from each of them.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tenure::store::mailbox::Fate;
use tenure::store::postgres::{Migration, PostgresConfig, PostgresStore};
use tenure::store::redis::{RedisConfig, RedisStore};
use tenure::store::sqlite::SqliteStore;
use tenure::store::{
    Campaign, ElectionKey, Line, Mailbox, MemoryStore, Message, MessageId, Post, Receive, Received, Resign, Settle,
    Shelf, Store,
};
use tenure_core::{
    CampaignReply, CandidateId, ChannelName, ElectionName, LossReason, Namespace, Nonce, Priority, Sender, Term,
};
use tenure_testkit::postgres::PostgresServer;
use tenure_testkit::redis::RedisServer;

const SEEDS: u64 = 25;
const STEPS: usize = 120;
/// Few, so that requests meet each other's messages.
const IDS: u64 = 12;

#[tokio::test]
async fn every_mailbox_answers_as_the_reference_does() {
    let directory = tempfile::tempdir().unwrap();
    let server = RedisServer::start();
    let config = RedisConfig::from_url(&server.url().parse().unwrap()).unwrap();
    let postgres = PostgresServer::start();
    let lease = PostgresConfig::from_url(&postgres.url().parse().unwrap()).unwrap();
    Migration::new(&lease).run().await.unwrap();
    let stores: Vec<Arc<dyn Store>> = vec![
        Arc::new(MemoryStore::new()),
        Arc::new(SqliteStore::open(directory.path().join("mailboxes.db")).unwrap()),
        Arc::new(RedisStore::open(&config).unwrap()),
        Arc::new(PostgresStore::open(&lease)),
    ];
    let mut received = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(&stores, seed);
        for _ in 0..STEPS {
            world.step().await;
        }
        received += world.received;
    }
    assert!(received > 500, "{received} messages show little");
}

struct World<'a> {
    stores: &'a [Arc<dyn Store>],
    key: ElectionKey,
    chance: u64,
    players: [Player; 2],
    received: usize,
    log: Vec<String>,
}

#[derive(Clone)]
struct Player {
    nonce: Nonce,
    leads: bool,
    /// The last grant of each store.
    terms: Vec<Term>,
}

impl<'a> World<'a> {
    fn new(stores: &'a [Arc<dyn Store>], seed: u64) -> Self {
        let terms = vec![Term::new(1).unwrap(); stores.len()];
        let player = |number: u128| Player { nonce: Nonce::from_bits(number), leads: false, terms: terms.clone() };
        Self {
            stores,
            key: ElectionKey {
                namespace: Namespace::default(),
                name: ElectionName::new(format!("seed {seed}")).unwrap(),
            },
            chance: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            players: [player(1), player(2)],
            received: 0,
            log: vec![format!("seed {seed}")],
        }
    }

    async fn step(&mut self) {
        match self.below(12) {
            0..4 => self.send().await,
            4..6 => self.receive().await,
            6..9 => self.settle().await,
            9 => self.requeue().await,
            10 => self.list().await,
            _ => self.change_leader().await,
        }
    }

    async fn send(&mut self) {
        let count = self.below(3) + 1;
        let batch: Vec<Post> = (0..count).map(|_| self.post()).collect();
        let answers =
            self.ask(async |_, mailbox| mailbox.send(&batch).await.into_iter().all(|reply| reply.is_ok())).await;
        assert!(self.agreed(&format!("send {batch:?}"), answers), "there is room");
    }

    async fn receive(&mut self) {
        let player = self.player();
        let except =
            if self.below(2) == 0 { vec![Line { channel: self.channel(), sender: self.sender() }] } else { Vec::new() };
        let channels = if self.below(3) == 0 { vec![self.channel()] } else { ["a", "b"].map(channel).to_vec() };
        let limit = usize::try_from(self.below(6)).unwrap();
        let asked = format!("receive {channels:?} except {except:?} at most {limit}");
        let key = self.key.clone();
        let request = |store: usize| Receive {
            key: key.clone(),
            nonce: player.nonce,
            term: player.terms[store],
            channels: channels.clone(),
            except: except.clone(),
            limit,
        };
        let answers = self
            .ask(async |store, mailbox| match mailbox.receive(&request(store)).await.unwrap() {
                Received::Messages(messages) => Some(without_times(messages)),
                Received::NotHolder => None,
            })
            .await;
        self.received += self.agreed(&asked, answers).map_or(0, |messages| messages.len());
    }

    async fn settle(&mut self) {
        let player = self.player();
        let count = self.below(4);
        let fates: Vec<(MessageId, Fate)> = (0..count).map(|_| (self.id(), self.fate())).collect();
        let key = self.key.clone();
        let request = |store: usize| {
            let (key, fates) = (key.clone(), fates.clone());
            Settle { key, nonce: player.nonce, term: player.terms[store], fates }
        };
        let answers = self.ask(async |store, mailbox| mailbox.settle(&request(store)).await.unwrap()).await;
        self.agreed(&format!("settle {fates:?}"), answers);
    }

    async fn requeue(&mut self) {
        let count = self.below(4);
        let ids = (count > 0).then(|| (0..count).map(|_| self.id()).collect::<Vec<_>>());
        let key = self.key.clone();
        let answers = self.ask(async |_, mailbox| mailbox.requeue(&key, ids.as_deref()).await.unwrap()).await;
        self.agreed(&format!("requeue {ids:?}"), answers);
    }

    async fn list(&mut self) {
        let limit = usize::try_from(self.below(8)).unwrap();
        let key = self.key.clone();
        for shelf in [Shelf::Waiting, Shelf::Aside] {
            let answers =
                self.ask(async |_, mailbox| without_times(mailbox.list(&key, shelf, limit).await.unwrap())).await;
            self.agreed(&format!("list {shelf:?} at most {limit}"), answers);
        }
    }

    /// Whoever leads resigns, and otherwise somebody begins to. Nobody stands by, so nothing depends on time.
    async fn change_leader(&mut self) {
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
            candidate: CandidateId::new("candidate").unwrap(),
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
        self.players[chosen] = Player { leads: true, terms, ..self.players[chosen].clone() };
    }

    async fn ask<T>(&self, act: impl AsyncFn(usize, &dyn Mailbox) -> T) -> Vec<T> {
        join_all(self.stores.iter().enumerate().map(|(number, store)| act(number, store.mailbox().unwrap()))).await
    }

    /// The answer of all.
    #[track_caller]
    fn agreed<T: PartialEq + Debug>(&mut self, asked: &str, mut answers: Vec<T>) -> T {
        self.log.push(format!("{asked}: {:?}", answers[0]));
        for (store, answer) in self.stores.iter().zip(&answers) {
            assert_eq!(*answer, answers[0], "{} after\n{}", store.capabilities().name, self.log.join("\n"));
        }
        answers.remove(0)
    }

    fn post(&mut self) -> Post {
        let (key, id, payload) = (self.key.clone(), self.id(), Arc::from(self.below(1_000).to_string()));
        Post { key, id, channel: self.channel(), sender: self.sender(), payload }
    }

    fn fate(&mut self) -> Fate {
        let attempt = u32::try_from(self.below(5)).unwrap();
        let why = format!("attempt {attempt}");
        match self.below(3) {
            0 => Fate::Done,
            1 => Fate::Failed { attempt, why },
            _ => Fate::SetAside { attempt, why },
        }
    }

    fn player(&mut self) -> Player {
        // Mostly whoever leads: the others are told nothing.
        let chosen = usize::try_from(self.below(2)).unwrap();
        let leader = self.players.iter().position(|player| player.leads);
        let chosen = if self.below(4) == 0 { chosen } else { leader.unwrap_or(chosen) };
        self.players[chosen].clone()
    }

    fn id(&mut self) -> MessageId {
        MessageId::from_bits(u128::from(self.below(IDS)))
    }

    fn channel(&mut self) -> ChannelName {
        channel(["a", "b"][usize::try_from(self.below(2)).unwrap()])
    }

    fn sender(&mut self) -> Sender {
        Sender::new(["one", "other"][usize::try_from(self.below(2)).unwrap()]).unwrap()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance >> 16) % limit
    }
}

fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap()
}

/// Each store has its own clock.
fn without_times(messages: Vec<Message>) -> Vec<Message> {
    messages.into_iter().map(|message| Message { sent_at_unix_ms: 0, ..message }).collect()
}
