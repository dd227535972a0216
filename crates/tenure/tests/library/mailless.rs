//! A store without mailbox, pub/sub and ledger: whoever needs one is told at once, and everything else works.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use tenure::blocking::Client;
use tenure::store::{
    Campaign, Capabilities, ElectionKey, Finding, Hint, Interest, Observation, Renew, Replies, Resign, StoreErrorKind,
    Transition, async_trait,
};
use tenure::{CandidateId, ElectionName, Error, MemoryStore, MessageState, Namespace, Store, StoreError};
use tenure_core::{CampaignReply, RenewReply};

#[derive(Debug)]
struct Mailless(MemoryStore);

#[async_trait]
impl Store for Mailless {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn campaign(&self, batch: &[Campaign]) -> Replies<CampaignReply> {
        self.0.campaign(batch).await
    }

    async fn renew(&self, batch: &[Renew]) -> Replies<RenewReply> {
        self.0.renew(batch).await
    }

    async fn resign(&self, batch: &[Resign]) -> Replies<()> {
        self.0.resign(batch).await
    }

    async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
        self.0.observe(batch).await
    }

    async fn elections(&self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        self.0.elections(namespace).await
    }

    async fn request_handover(&self, key: &ElectionKey, successor: Option<&CandidateId>) -> Result<bool, StoreError> {
        self.0.request_handover(key, successor).await
    }

    async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        self.0.history(key, limit).await
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.0.watch(interest)
    }

    async fn examine(&self) -> Vec<Finding> {
        self.0.examine().await
    }
}

#[test]
fn messages_are_refused_with_a_word_and_elections_go_on() {
    let client = Client::with_store(Mailless(MemoryStore::new())).unwrap();
    let candidacy = client.election("x").unwrap().candidate().start().unwrap();
    let handler = client.election("x").unwrap().candidate().on_message("refresh", |_, _| ()).start();
    let refusals = [
        client.election("x").unwrap().send("refresh", &1).unwrap_err(),
        client.election("x").unwrap().messages(MessageState::Pending, 1).unwrap_err(),
        client.election("x").unwrap().requeue(None).unwrap_err(),
        candidacy.channel("refresh").unwrap_err(),
        handler.unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Store(error) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{refusal}");
        assert!(refusal.to_string().contains("the memory store keeps no messages"), "{refusal}");
    }
    let handler = client.election("x").unwrap().candidate().on_broadcast("reload", |_| ()).start();
    let refusals = [
        client.election("x").unwrap().broadcast("reload", &1).unwrap_err(),
        candidacy.broadcasts("reload").unwrap_err(),
        handler.unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Store(error) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{refusal}");
        assert!(refusal.to_string().contains("the memory store cannot broadcast"), "{refusal}");
    }
    assert_eq!(client.store().pubsub(), None);
    candidacy.elected().unwrap();
    assert!(Arc::new(Mailless(MemoryStore::new())).mailbox().is_none());
}

#[test]
fn jobs_are_refused_with_a_word() {
    let client = Client::with_store(Mailless(MemoryStore::new())).unwrap();
    let job = tenure::cron::Job::new("report", "@daily").unwrap();
    let refusals = [
        client.election("x").unwrap().candidate().job(job, |_| ()).start().unwrap_err(),
        client.election("x").unwrap().jobs(1).unwrap_err(),
        client.election("x").unwrap().forget_job("report").unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Store(error) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{refusal}");
        assert!(refusal.to_string().contains("keeps no jobs; use one that does: `sqlite:PATH`"), "{refusal}");
    }
}
