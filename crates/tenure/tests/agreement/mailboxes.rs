//! All mailboxes keep the same rules: the same requests, drawn from a seed, get the same answers from each of them.

use std::sync::Arc;

use futures_util::future::join_all;
use tenure::store::mailbox::AckOutcome;
use tenure::store::{Ack, Mailbox, Message, MessageId, MessageState, NewMessage, OrderingKey, Receive, Received};
use tenure_core::{ChannelName, Sender};

use super::stores::{AgreementWorld, Stores};

const SEEDS: u64 = 25;
const STEPS: usize = 120;
/// Few, so that requests meet each other's messages.
const IDS: u64 = 12;

#[tokio::test]
async fn every_mailbox_answers_as_the_reference_does() {
    let stores = Stores::start().await;
    let mut received = 0;
    for seed in 0..SEEDS {
        let mut world = AgreementWorld::new(&stores.all, seed);
        for _ in 0..STEPS {
            received += world.step().await;
        }
    }
    assert!(received > 500, "{received} messages show little");
}

impl AgreementWorld<'_> {
    /// Returns how many messages were received.
    async fn step(&mut self) -> usize {
        match self.below(12) {
            0..4 => self.send().await,
            4..6 => return self.receive().await,
            6..9 => self.ack().await,
            9 => self.requeue().await,
            10 => self.list().await,
            _ => self.change_leader().await,
        }
        0
    }

    async fn send(&mut self) {
        let count = self.below(3) + 1;
        let batch: Vec<NewMessage> = (0..count).map(|_| self.new_message()).collect();
        let answers =
            self.ask(async |_, mailbox| mailbox.send(&batch).await.into_iter().all(|reply| reply.is_ok())).await;
        assert!(self.agreed(&format!("send {batch:?}"), answers), "there is room");
    }

    async fn receive(&mut self) -> usize {
        let player = self.player();
        let except = if self.below(2) == 0 {
            vec![OrderingKey { channel: self.channel(), sender: self.sender() }]
        } else {
            Vec::new()
        };
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
        self.agreed(&asked, answers).map_or(0, |messages| messages.len())
    }

    async fn ack(&mut self) {
        let player = self.player();
        let count = self.below(4);
        let outcomes: Vec<(MessageId, AckOutcome)> = (0..count).map(|_| (self.id(), self.outcome())).collect();
        let key = self.key.clone();
        let request = |store: usize| {
            let (key, outcomes) = (key.clone(), outcomes.clone());
            Ack { key, nonce: player.nonce, term: player.terms[store], outcomes }
        };
        let answers = self.ask(async |store, mailbox| mailbox.ack(&request(store)).await.unwrap()).await;
        self.agreed(&format!("settle {outcomes:?}"), answers);
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
        for state in [MessageState::Pending, MessageState::DeadLetter] {
            let answers =
                self.ask(async |_, mailbox| without_times(mailbox.list(&key, state, limit).await.unwrap())).await;
            self.agreed(&format!("list {state:?} at most {limit}"), answers);
        }
        for only in [None, Some(&key.name)] {
            let count = async |_, mailbox: &dyn Mailbox| {
                let counts = mailbox.counts(&key.namespace, only).await.unwrap();
                counts.into_iter().map(Result::unwrap).collect::<Vec<_>>()
            };
            let answers = self.ask(count).await;
            self.agreed(&format!("count in {only:?}"), answers);
        }
    }

    async fn ask<T>(&self, act: impl AsyncFn(usize, &dyn Mailbox) -> T) -> Vec<T> {
        join_all(self.stores.iter().enumerate().map(|(number, store)| act(number, store.mailbox().unwrap()))).await
    }

    fn new_message(&mut self) -> NewMessage {
        let (key, id, payload) = (self.key.clone(), self.id(), Arc::from(self.below(1_000).to_string()));
        NewMessage { key, id, channel: self.channel(), sender: self.sender(), payload }
    }

    fn outcome(&mut self) -> AckOutcome {
        let attempt = u32::try_from(self.below(5)).unwrap();
        let why = format!("attempt {attempt}");
        match self.below(3) {
            0 => AckOutcome::Done,
            1 => AckOutcome::Failed { attempt, why },
            _ => AckOutcome::DeadLettered { attempt, why },
        }
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
}

fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap()
}

/// Each store has its own clock.
fn without_times(messages: Vec<Message>) -> Vec<Message> {
    messages.into_iter().map(|message| Message { sent_at_unix_ms: 0, ..message }).collect()
}
