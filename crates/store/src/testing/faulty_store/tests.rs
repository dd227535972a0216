use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{JobName, Metadata, Nonce, Priority, Term, WriteOutcome};

use super::*;
use crate::testing::VirtualClock;
use crate::{
    Mailbox, MemoryStore, MessageState, NewMessage, Receive, Received,
    ledger::{Act, Claim, Claimed, JobLedger, OpenJob, OpenJobs, Opened, Tick},
    mailbox::{ChannelName, Sender},
    random_message_id,
};

/// The faulty store, the store behind it, and the clock of both.
fn scene() -> (Arc<FaultyStore>, MemoryStore, Arc<VirtualClock>) {
    let hands = VirtualClock::new();
    let clock = Clock::controlled_by(&hands);
    let inner = MemoryStore::with_clock(clock.clone());
    (FaultyStore::with_clock(Arc::new(inner.clone()), clock), inner, hands)
}

fn key() -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly-report").unwrap() }
}

fn campaign(nonce: u128) -> Campaign {
    Campaign {
        key: key(),
        candidate: CandidateId::new("one").unwrap(),
        nonce: Nonce::from_bits(nonce),
        ttl: Duration::from_secs(10),
        priority: Priority::default(),
        metadata: Metadata::default(),
        stand_by_for: Duration::from_secs(10),
    }
}

fn renewal() -> Renew {
    Renew { key: key(), nonce: Nonce::from_bits(1), term: Term::new(1).unwrap(), ttl: Duration::from_secs(10) }
}

async fn leads(store: &dyn Store) -> bool {
    store.observe(&[key()]).await[0].as_ref().unwrap().lease.is_some()
}

fn failure<T: std::fmt::Debug>(reply: &Result<T, StoreError>) -> WriteOutcome {
    reply.as_ref().unwrap_err().write_outcome()
}

#[tokio::test]
async fn a_lost_request_is_not_executed() {
    let (store, inner, _) = scene();
    store.inject(Operation::Campaign, Fault::LoseRequest);
    assert_eq!(failure(&store.campaign(&[campaign(1)]).await[0]), WriteOutcome::NotSent);
    assert!(!leads(&inner).await);
}

#[tokio::test]
async fn a_request_with_a_lost_reply_is_executed() {
    let (store, inner, _) = scene();
    store.inject(Operation::Campaign, Fault::LoseReply);
    let replies = store.campaign(&[campaign(1), campaign(2)]).await;
    assert_eq!(replies.iter().map(failure).collect::<Vec<_>>(), [WriteOutcome::Unknown, WriteOutcome::Unknown]);
    assert!(leads(&inner).await);
}

#[tokio::test]
async fn a_swallowed_reply_never_comes_although_the_request_was_executed() {
    let (store, inner, _) = scene();
    store.inject(Operation::Campaign, Fault::SwallowReply);
    assert!(store.campaign(&[campaign(1)]).now_or_never().is_none());
    assert!(leads(&inner).await);
}

#[tokio::test]
async fn a_black_hole_neither_executes_nor_answers() {
    let (store, inner, _) = scene();
    store.inject_everywhere(&Fault::BlackHole);
    let request = [campaign(1)];
    let mut lost = store.campaign(&request);
    assert!((&mut lost).now_or_never().is_none());
    store.heal();
    assert!(lost.now_or_never().is_none(), "what fell into it does not come out again");
    assert!(!leads(&inner).await);
}

#[tokio::test]
async fn a_call_that_is_never_polled_is_neither_counted_nor_executed() {
    let (store, inner, _) = scene();
    store.inject_once(Operation::Campaign, Fault::LoseRequest);
    drop(store.campaign(&[campaign(1)]));
    drop(inner.campaign(&[campaign(2)]));
    assert_eq!(store.calls(Operation::Campaign), 0);
    assert!(!leads(&inner).await);
    assert_eq!(failure(&store.campaign(&[campaign(1)]).await[0]), WriteOutcome::NotSent, "the fault was not used up");
}

#[tokio::test]
async fn a_failing_call_fails_as_it_was_told() {
    let (store, inner, _) = scene();
    store.inject(Operation::Elections, Fault::Fail(StoreError::refused(StoreErrorKind::Full, "no room")));
    let error = store.elections(&Namespace::default()).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (StoreErrorKind::Full, "no room"));
    assert!(inner.elections(&Namespace::default()).await.is_ok());
}

#[tokio::test]
async fn a_duplicated_request_is_executed_twice_and_called_once() {
    let inner = FaultyStore::new(Arc::new(MemoryStore::new()));
    let store = FaultyStore::new(Arc::clone(&inner) as Arc<dyn Store>);
    store.inject(Operation::Campaign, Fault::Duplicate);
    assert!(store.campaign(&[campaign(1)]).await[0].is_ok());
    assert_eq!((store.calls(Operation::Campaign), inner.calls(Operation::Campaign)), (1, 2));
}

#[tokio::test]
async fn a_delayed_reply_comes_when_its_clock_says_so() {
    let (store, inner, hands) = scene();
    store.inject(Operation::Campaign, Fault::DelayReply(Duration::from_secs(3)));
    let request = [campaign(1)];
    let mut reply = store.campaign(&request);
    assert!((&mut reply).now_or_never().is_none());
    assert!(leads(&inner).await);
    hands.advance(Duration::from_secs(2));
    assert!((&mut reply).now_or_never().is_none());
    hands.advance(Duration::from_secs(1));
    assert!(reply.now_or_never().is_some());
}

#[tokio::test]
async fn a_held_reply_comes_with_the_release() {
    let (store, inner, _) = scene();
    store.inject(Operation::Campaign, Fault::HoldReply);
    let request = [campaign(1)];
    let mut reply = store.campaign(&request);
    assert!((&mut reply).now_or_never().is_none());
    assert!(leads(&inner).await);
    store.release();
    assert!(reply.await[0].is_ok());
    assert!(store.campaign(&request).now_or_never().is_none(), "the fault lasts");
}

#[tokio::test]
async fn a_held_request_is_executed_at_the_release() {
    let (store, inner, _) = scene();
    store.inject(Operation::Campaign, Fault::HoldRequest);
    let request = [campaign(1)];
    let mut reply = store.campaign(&request);
    assert!((&mut reply).now_or_never().is_none());
    assert!(!leads(&inner).await);
    store.release();
    assert!(reply.await[0].is_ok());
    assert!(leads(&inner).await);
}

#[tokio::test]
async fn a_held_request_is_executed_although_its_sender_gave_up() {
    let (store, inner, _) = scene();
    let mut hints = inner.watch(Interest::All);
    store.inject(Operation::Campaign, Fault::HoldRequest);
    assert!(store.campaign(&[campaign(1)]).now_or_never().is_none());
    store.heal();
    assert!(hints.next().await.is_some(), "the grant is hinted at");
    assert!(leads(&inner).await);
}

#[tokio::test]
async fn faults_strike_the_operation_they_were_meant_for() {
    let (store, _, _) = scene();
    store.inject(Operation::Renew, Fault::LoseRequest);
    assert!(store.campaign(&[campaign(1)]).await[0].is_ok());
    assert_eq!(failure(&store.renew(&[renewal()]).await[0]), WriteOutcome::NotSent);
    store.clear(Operation::Renew);
    assert!(store.renew(&[renewal()]).await[0].is_ok());
}

#[tokio::test]
async fn what_is_injected_once_strikes_once_and_first() {
    let (store, _, _) = scene();
    store.inject(Operation::Campaign, Fault::LoseReply);
    store.inject_once(Operation::Campaign, Fault::LoseRequest);
    assert_eq!(failure(&store.campaign(&[campaign(1)]).await[0]), WriteOutcome::NotSent);
    assert_eq!(failure(&store.campaign(&[campaign(1)]).await[0]), WriteOutcome::Unknown);
}

#[tokio::test]
async fn hints_are_dropped_until_healed() {
    let (store, _, _) = scene();
    let mut hints = store.watch(Interest::All);
    store.drop_hints(true);
    assert!(store.campaign(&[campaign(1)]).await[0].is_ok());
    assert!(hints.next().now_or_never().is_none());
    store.heal();
    assert!(store.request_handover(&key(), None).await.unwrap());
    assert_eq!(hints.next().await, Some(Hint::at(key())));
}

#[tokio::test]
async fn calls_and_requests_are_counted() {
    let (store, _, _) = scene();
    store.inject_once(Operation::Renew, Fault::LoseRequest);
    store.renew(&[renewal(), renewal(), renewal()]).await;
    store.renew(&[renewal()]).await;
    assert_eq!((store.calls(Operation::Renew), store.requests(Operation::Renew)), (2, 4));
    assert_eq!(store.calls(Operation::Campaign), 0);
    store.forget_counts();
    assert_eq!((store.calls(Operation::Renew), store.requests(Operation::Renew)), (0, 0));
}

#[tokio::test]
async fn messages_go_astray_as_well() {
    let (store, inner, _) = scene();
    let new_message = |payload: &str| NewMessage {
        key: key(),
        id: random_message_id(),
        channel: ChannelName::new("refresh").unwrap(),
        sender: Sender::new("one").unwrap(),
        payload: payload.into(),
    };
    let faulty = Store::mailbox(&*store).unwrap();
    store.inject_once(Operation::Send, Fault::LoseRequest);
    store.inject_once(Operation::Send, Fault::LoseReply);
    let replies = faulty.send(&[new_message("1"), new_message("2")]).await;
    assert_eq!(replies.iter().map(failure).collect::<Vec<_>>(), [WriteOutcome::NotSent, WriteOutcome::NotSent]);
    assert_eq!(failure(&faulty.send(&[new_message("3")]).await[0]), WriteOutcome::Unknown);
    assert_eq!((store.calls(Operation::Send), store.requests(Operation::Send)), (2, 3));
    let waiting = inner.list(&key(), MessageState::Pending, 10).await.unwrap();
    assert_eq!(waiting.iter().map(|message| &*message.payload).collect::<Vec<_>>(), ["3"]);
    store.inject(Operation::ListMessages, Fault::LoseReply);
    assert_eq!(failure(&faulty.list(&key(), MessageState::Pending, 10).await), WriteOutcome::Unknown);
    store.heal();
    let request = Receive {
        key: key(),
        nonce: Nonce::from_bits(1),
        term: Term::new(1).unwrap(),
        channels: Vec::new(),
        except: Vec::new(),
        limit: 1,
    };
    assert_eq!(faulty.receive(&request).await.unwrap(), Received::NotHolder);
    assert_eq!(faulty.promises(), Mailbox::promises(&inner));
    assert_eq!(store.pubsub().unwrap().promises(), PubSub::promises(&inner));
}

#[tokio::test]
async fn what_is_asked_of_a_ledger_goes_astray_as_well() {
    let (store, inner, _) = scene();
    let faulty = Store::ledger(&*store).unwrap();
    store.campaign(&[campaign(1)]).await;
    let (nonce, term, job) = (Nonce::from_bits(1), Term::new(1).unwrap(), JobName::new("backup").unwrap());
    let jobs = vec![OpenJob { job: job.clone(), schedule: "daily".into(), from: Tick::from_unix_s(1) }];
    let open = OpenJobs { key: key(), nonce, term, jobs };
    store.inject_once(Operation::OpenJobs, Fault::LoseRequest);
    assert_eq!(failure(&faulty.open(&open).await), WriteOutcome::NotSent);
    assert_eq!(inner.jobs(&key(), 9).await.unwrap(), []);
    assert!(matches!(faulty.open(&open).await.unwrap(), Opened::Jobs(_)));
    let candidate = CandidateId::new("one").unwrap();
    let claim = |second| Claim {
        key: key(),
        nonce,
        term,
        candidate: candidate.clone(),
        job: job.clone(),
        tick: Tick::from_unix_s(second),
        act: Act::Run,
        missed: 0,
    };
    store.inject_once(Operation::Claim, Fault::LoseReply);
    let lost = faulty.claim(&[claim(2), claim(3)]).await;
    assert_eq!(lost.iter().map(failure).collect::<Vec<_>>(), [WriteOutcome::Unknown, WriteOutcome::Unknown]);
    assert_eq!(inner.jobs(&key(), 9).await.unwrap()[0].fired, 2, "it was executed");
    assert_eq!(*faulty.claim(&[claim(3)]).await[0].as_ref().unwrap(), Claimed::Granted);
    assert_eq!((store.calls(Operation::Claim), store.requests(Operation::Claim)), (2, 3));
    store.inject(Operation::ForgetJob, Fault::LoseRequest);
    assert_eq!(failure(&faulty.forget(&key(), &job).await), WriteOutcome::NotSent);
    assert_eq!(faulty.jobs(&key(), 1).await.unwrap()[0].runs.len(), 1);
}
