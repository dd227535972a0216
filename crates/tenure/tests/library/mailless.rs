//! A store without mailbox, pub/sub and ledger: whoever needs one is told at once, and everything else works.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tenure::store::{
    Campaign, Capabilities, ElectionKey, Finding, Hint, Interest, Observation, Renew, Replies, Resign, StoreErrorKind,
    Transition,
};
use tenure::{
    CandidateId, ChannelName, Client, ElectionName, Error, MemoryStore, MessageState, Namespace, Store, StoreError,
};
use tenure_core::{CampaignReply, RenewReply};

use crate::support::block_on;

#[derive(Debug)]
struct Mailless(MemoryStore);

impl Store for Mailless {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn campaign<'a>(&'a self, batch: &'a [Campaign]) -> BoxFuture<'a, Replies<CampaignReply>> {
        self.0.campaign(batch)
    }

    fn renew<'a>(&'a self, batch: &'a [Renew]) -> BoxFuture<'a, Replies<RenewReply>> {
        self.0.renew(batch)
    }

    fn resign<'a>(&'a self, batch: &'a [Resign]) -> BoxFuture<'a, Replies<()>> {
        self.0.resign(batch)
    }

    fn observe<'a>(&'a self, batch: &'a [ElectionKey]) -> BoxFuture<'a, Replies<Observation>> {
        self.0.observe(batch)
    }

    fn elections<'a>(&'a self, namespace: &'a Namespace) -> BoxFuture<'a, Result<Vec<ElectionName>, StoreError>> {
        self.0.elections(namespace)
    }

    fn request_handover<'a>(
        &'a self,
        key: &'a ElectionKey,
        successor: Option<&'a CandidateId>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.request_handover(key, successor)
    }

    fn history<'a>(&'a self, key: &'a ElectionKey, limit: usize) -> BoxFuture<'a, Result<Vec<Transition>, StoreError>> {
        self.0.history(key, limit)
    }

    fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
        self.0.watch(interest)
    }

    fn examine(&self) -> BoxFuture<'_, Vec<Finding>> {
        self.0.examine()
    }
}

#[test]
fn messages_are_refused_with_a_word_and_elections_go_on() {
    let client = Client::with_store(Mailless(MemoryStore::new())).unwrap();
    let election = client.election("x").unwrap().candidate().start().unwrap();
    let handler =
        client.election("x").unwrap().candidate().on_message(ChannelName::new("refresh").unwrap(), |_| ()).start();
    let refusals = [
        client.election("x").unwrap().send_blocking("refresh", &1).unwrap_err(),
        block_on(client.election("x").unwrap().messages(MessageState::Pending, 1)).unwrap_err(),
        block_on(client.election("x").unwrap().requeue(None)).unwrap_err(),
        election.channel("refresh").unwrap_err(),
        handler.unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Store(error) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{refusal}");
        assert!(refusal.to_string().contains("the memory store keeps no messages"), "{refusal}");
    }
    let handler =
        client.election("x").unwrap().candidate().on_broadcast(ChannelName::new("reload").unwrap(), |_| ()).start();
    let refusals = [
        client.election("x").unwrap().broadcast_blocking("reload", &1).unwrap_err(),
        election.broadcasts("reload").unwrap_err(),
        handler.unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Store(error) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{refusal}");
        assert!(refusal.to_string().contains("the memory store cannot broadcast"), "{refusal}");
    }
    assert_eq!(client.pubsub(), None);
    election.wait_elected().unwrap();
    assert!(Arc::new(Mailless(MemoryStore::new())).mailbox().is_none());
}

#[test]
fn jobs_are_refused_with_a_word() {
    let client = Client::with_store(Mailless(MemoryStore::new())).unwrap();
    let job = tenure::cron::Job::new("report", "@daily").unwrap();
    let refusals = [
        client.election("x").unwrap().candidate().job(job, |_| ()).start().unwrap_err(),
        client.election("x").unwrap().jobs_blocking(1).unwrap_err(),
        client.election("x").unwrap().forget_job_blocking("report").unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Store(error) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(error.kind(), StoreErrorKind::Unsupported, "{refusal}");
        assert!(refusal.to_string().contains("keeps no jobs; use one that does: `sqlite:PATH`"), "{refusal}");
    }
}
